import TrackerCore

/// What one process has to tell, claimed for it alone.
package struct Offer: Sendable {
    /// Its decisions are the ones claimed here; what another process is telling right now is not among them.
    package let evaluation: Evaluation
    let claims: Claims
    /// Somebody had begun to tell this, and died: it comes to an end as it began, in the same words, before anything
    /// new is told.
    package let isLeft: Bool

    /// Something that a person sees. Decisions with equal words are one banner: it is shown once and answers all of
    /// them.
    package struct Banner: Sendable {
        /// The most urgent of them.
        package fileprivate(set) var shown: TrackerNotification
        package fileprivate(set) var answers: [TrackerNotification]
    }

    /// Most important first.
    package var banners: [Banner] { Self.banners(evaluation.decisions) }

    static func banners(_ decisions: [TrackerNotification]) -> [Banner] {
        var banners: [Banner] = []
        for decision in decisions {
            if let same = banners.firstIndex(where: {
                $0.shown.title == decision.title && $0.shown.body == decision.body
            }) {
                banners[same].answers.append(decision)
                if decision.urgency.rawValue > banners[same].shown.urgency.rawValue { banners[same].shown = decision }
            } else {
                banners.append(Banner(shown: decision, answers: [decision]))
            }
        }
        return banners
    }
}
