import TrackerCore

/// What one process has to tell, claimed for it alone.
public struct Offer: Sendable {
    /// Its decisions are the ones claimed here; what another process is telling right now is not among them.
    public let evaluation: Evaluation
    let claims: Claims

    /// Something that a person sees. Decisions with equal words are one banner: it is shown once and answers all of them.
    public struct Banner: Sendable {
        /// The most urgent of them.
        public fileprivate(set) var shown: TrackerNotification
        public fileprivate(set) var answers: [TrackerNotification]
    }

    /// Most important first.
    public var banners: [Banner] {
        var banners: [Banner] = []
        for decision in evaluation.decisions {
            if let same = banners.firstIndex(where: { $0.shown.title == decision.title && $0.shown.body == decision.body }) {
                banners[same].answers.append(decision)
                if decision.urgency.rawValue > banners[same].shown.urgency.rawValue { banners[same].shown = decision }
            } else {
                banners.append(Banner(shown: decision, answers: [decision]))
            }
        }
        return banners
    }
}
