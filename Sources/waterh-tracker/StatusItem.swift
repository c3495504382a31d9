import TrackerCore

/// What a status bar shows of the day, or of a Waterline session; how it is written is a matter of `StatusFormat`.
struct StatusItem: Equatable {
    var text: String
    var short: String
    var tooltip: String
    /// What a bar's style sheet goes by.
    var state: String
    /// The phase of the day, or whether a session runs.
    var phase: String
    var percent: Int
    /// `#RRGGBB` (tracker law B6).
    var colour: String

    /// The day.
    init(_ day: StatusFields) {
        text = day.litresText
        short = "\(day.percent) %"
        tooltip = [day.statusText, day.lastDrinkAge.map { "last drink \($0)" }, day.waterline?.waterDueText].compactMap(
            \.self
        ).joined(separator: "\n")
        state = Status.name(day.displayUrgency)
        phase = day.phase
        percent = day.percent
        colour =
            switch day.displayUrgency {
            case .onTrack: "#42A5F5"
            case .attention: "#FFB300"
            case .overdue: "#E53935"
            }
    }

    /// The session that runs, or that none does (US-030).
    init(session: StatusFields.Session?) {
        guard let session else {
            (text, short, tooltip, state, phase, percent, colour) = ("No Session", "", "", "idle", "idle", 0, "#6B7B8D")
            return
        }
        let value = Amounts.decimal((session.value * 10).rounded() / 10)
        text = "\(value) · \(session.waterDueText)"
        short = value
        tooltip = [
            """
            \(session.drinks) drink\(session.drinks == 1 ? "" : "s"), \(session.waters) \
            water\(session.waters == 1 ? "" : "s")
            """,
            session.warningText,
        ].compactMap(\.self).joined(separator: "\n")
        (state, phase) = (session.isWarning ? "warning" : "running", "running")
        percent = Int((session.gauge * 100).rounded())
        colour = session.isWarning ? "#E53935" : "#42A5F5"
    }
}
