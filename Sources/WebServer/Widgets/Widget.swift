import Utilities
import TrackerCore
import TrackerService

/// Images of the day as SVG, in the viewer's colour scheme. All text is escaped.
enum Widget {
    /// The colours of a dark scheme. The attributes of the elements have those of a light one.
    static let style = """
        <style>@media (prefers-color-scheme:dark){.card{fill:#172534}.ink{fill:#EAF2FA}.rim{stroke:#172534}\
        .track{stroke:#3A4A5A}.bar{fill:#3A4A5A}}</style>
        """

    /// A drop inside a ring: the day's progress. While a drink is due the whole ring is a rainbow, also at 0 (K-A15).
    static func circular(_ state: TrackerSnapshot) -> String {
        // The size for watches (tracker spec A9): stroke 12, 90 % of the square.
        let radius = 84.0
        let circumference = 2 * Double.pi * radius
        let arc = min(max(state.pace.progress, 0), 1) * circumference
        let ring =
            state.nextDrink.phase == .alerting
            ? rainbow(radius)
            : """
            <circle class="track" cx="100" cy="100" r="\(radius)" fill="none" stroke="#CFD8DC" stroke-width="12"/>\
            <circle class="progress" cx="100" cy="100" r="\(radius)" fill="none" stroke="\(colour(state))" \
            stroke-width="12" stroke-linecap="\(arc > 0 ? "round" : "butt")" \
            stroke-dasharray="\(digits(arc)) \(digits(circumference))" transform="rotate(-90 100 100)"/>
            """
        return frame(200, 200, "\(state.pace.percent) %", ring + drop(100, 100, 1.0, colour(state)))
    }

    static func corner(_ state: TrackerSnapshot) -> String {
        frame(
            200, 200, "\(state.pace.percent) %",
            drop(100, 84, 1.7, colour(state))
                + text(100, 188, 34, "\(state.pace.percent)%", weight: "bold", hasNoCard: true))
    }

    /// The session in one line; "No Session" without one.
    static func small(_ state: TrackerSnapshot) -> String {
        guard let session = state.waterline else {
            return frame(160, 160, "No Session", card(160, 160) + text(80, 88, 20, "No Session"))
        }
        // Break the line after the colon, because only two words fit next to the gauge.
        let lines = session.waterDueText.replacing(": ", with: ":\n").split(separator: "\n").enumerated().map {
            index, label in text(100, 106 + Double(index) * 18, 13, String(label))
        }
        return frame(
            160, 160, session.waterDueText,
            card(160, 160) + gauge(session, 28, 24, 112) + text(100, 78, 32, value(session), weight: "bold")
                + lines.joined())
    }

    /// The session with its counts; without a session, the totals of the last one.
    static func medium(_ state: TrackerSnapshot, _ last: SessionSummary?) -> String {
        guard let session = state.waterline else { return idle(state, last, 340, 160) }
        return frame(340, 160, session.waterDueText, card(340, 160) + body(session, 340))
    }

    /// The session with its counts and its last three entries; without a session, the totals of the last one.
    static func large(_ state: TrackerSnapshot, _ logs: [LogReport], _ last: SessionSummary?) -> String {
        guard let session = state.waterline else { return idle(state, last, 340, 340) }
        let zone = (try? Zone(state.zone)) ?? .utc
        let lines = logs.suffix(3).reversed().enumerated().map { index, log in
            let time = zone.wall(at: log.log.timestamp).timeText.prefix(5)
            let label =
                log.log.kind == .water
                ? "Water" : "\(log.presetName ?? "Drink") \(digits(log.log.standardDrinkEstimate ?? 1))"
            return text(28, 206 + Double(index) * 44, 18, "\(time)  \(label)", anchor: "start")
        }
        return frame(340, 340, session.waterDueText, card(340, 340) + body(session, 340) + lines.joined())
    }

    /// The amount of the day, for callers without access to Waterline.
    static func amount(_ state: TrackerSnapshot, isLarge: Bool) -> String {
        let width = isLarge ? 340.0 : 160
        return frame(
            width, 160, state.amountText,
            card(width, 160) + text(width / 2, 72, 26, "\(state.pace.percent) %", weight: "bold")
                + text(width / 2, 108, isLarge ? 18 : 13, state.amountText))
    }

    private static func body(_ session: WaterlineSnapshot, _ width: Double) -> String {
        let counts = "\(counted(session.state.drinks, "drink")), \(counted(session.state.waters, "water"))"
        let reminder = session.nextReminderText.map { "Next reminder: \($0)" } ?? ""
        return gauge(session, 28, 24, 112) + text(96, 76, 40, value(session), weight: "bold")
            + text(150, 56, 16, counts, anchor: "start")
            + text(150, 84, 16, session.waterDueText, anchor: "start") + text(150, 112, 16, reminder, anchor: "start")
    }

    private static func idle(_ state: TrackerSnapshot, _ last: SessionSummary?, _ width: Double, _ height: Double)
        -> String
    {
        let label =
            last.map { "Last: \($0.durationText), \(counted($0.drinks, "drink")), \(counted($0.waters, "water"))" }
            ?? "Start a session"
        return frame(
            width, height, "No Session",
            card(width, height) + text(width / 2, height / 2 - 26, 22, "No Session")
                + text(width / 2, height / 2 + 8, 16, label)
                + text(width / 2, height / 2 + 38, 16, state.amountText))
    }

    /// The vertical gauge with 0 in the centre (tracker spec E5).
    private static func gauge(_ session: WaterlineSnapshot, _ x: Double, _ y: Double, _ height: Double) -> String {
        let at = y + height * (1 - session.state.gauge)
        let colour = session.state.isWarning ? "#E53935" : "#42A5F5"
        return """
            <rect class="bar" x="\(digits(x))" y="\(digits(y))" width="12" height="\(digits(height))" rx="6" \
            fill="#CFD8DC"/>\
            <rect x="\(digits(x - 4))" y="\(digits(y + height / 2 - 1))" width="20" height="2" fill="#6B7B8D"/>\
            <circle class="value" cx="\(digits(x + 6))" cy="\(digits(at))" r="9" fill="\(colour)"/>
            """
    }

    private static func value(_ session: WaterlineSnapshot) -> String {
        digits((session.state.value * 10).rounded() / 10).replacing("-", with: "−")
    }

    private static func colour(_ state: TrackerSnapshot) -> String {
        switch state.pace.displayUrgency {
        case .onTrack: "#42A5F5"
        case .attention: "#FFB300"
        case .overdue: "#E53935"
        }
    }

    private static func rainbow(_ radius: Double) -> String {
        let colours = ["#E53935", "#FB8C00", "#FDD835", "#43A047", "#1E88E5", "#8E24AA"]
        let length = 2 * Double.pi * radius
        return colours.enumerated().map { index, colour in
            """
            <circle class="rainbow" cx="100" cy="100" r="\(radius)" fill="none" stroke="\(colour)" stroke-width="12" \
            stroke-dasharray="\(digits(length / 6)) \(digits(length))" transform="rotate(\(-90 + index * 60) 100 100)"/>
            """
        }.joined()
    }

    private static func drop(_ x: Double, _ y: Double, _ scale: Double, _ colour: String) -> String {
        """
        <path d="M0 -44 C 14 -20 30 -4 30 14 A 30 30 0 0 1 -30 14 C -30 -4 -14 -20 0 -44 Z" fill="\(colour)" \
        transform="translate(\(digits(x)) \(digits(y))) scale(\(digits(scale)))"/>
        """
    }

    private static func card(_ width: Double, _ height: Double) -> String {
        "<rect class=\"card\" width=\"\(digits(width))\" height=\"\(digits(height))\" rx=\"20\" fill=\"#FFFFFF\"/>"
    }

    private static func text(
        _ x: Double, _ y: Double, _ size: Double, _ label: String, anchor: String = "middle", weight: String = "normal",
        hasNoCard: Bool = false
    ) -> String {
        // Text without a card has a pale outline, because the embedding page can have any background.
        let rim =
            hasNoCard
            ? """
             stroke=\"#FFFFFF\" stroke-width=\"\(digits(size / 6))\" stroke-linejoin=\"round\" \
            paint-order=\"stroke\"
            """
            : ""
        return """
            <text class="ink\(hasNoCard ? " rim" : "")" x="\(digits(x))" y="\(digits(y))" \
            font-family="system-ui, sans-serif" font-size="\(digits(size))" font-weight="\(weight)" \
            text-anchor="\(anchor)" fill="#1A1A2E"\(rim)>\(Escaping.markup(label))</text>
            """
    }

    private static func frame(_ width: Double, _ height: Double, _ title: String, _ inside: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(digits(width)) \(digits(height))" \
        width="\(digits(width))" height="\(digits(height))" \
        role="img" aria-label="\(Escaping.markup(title))">\(style)\(inside)</svg>
        """
    }

    /// A number with at most three decimals and no trailing zeros.
    private static func digits(_ number: Double) -> String {
        let thousandths = (number * 1000).rounded() / 1000
        return thousandths == thousandths.rounded() ? String(Int(thousandths)) : "\(thousandths)"
    }
}
