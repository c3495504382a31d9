import ArgumentParser
import CommandSupport
import Store
import TrackerCore
import TrackerService

struct WhyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Why a reminder is told now, or not: what decided, and what would change it.",
        discussion: "What was told on a day is known as it stands now, also for an earlier moment.")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(
        help:
            """
            At another moment: 14:00 (of the day that runs, also to come), 2026-06-15T14:00, or with an offset. \
            Default: now.
            """
    ) var at: String?
    @Flag(help: "Every condition, also those that hold.") var all = false

    func run(_ desk: Desk) throws {
        let report = try desk.tracker.why(at: at)
        try desk.say(report) {
            [desk.dateTime(report.explanation.at) + " " + report.explanation.zone]
                + report.explanation.reminders.flatMap { lines($0, desk) }
                + (report.state.hasNotificationServer
                    ? []
                    : [
                        """
                        No notification would be seen from here: there is no desktop session with a notification \
                        server.
                        """
                    ])
        }
    }

    private func lines(_ reminder: Explanation.Reminder, _ desk: Desk) -> [String] {
        let title = Self.title(reminder.kind).padded(24)
        let head = reminder.isTold ? desk.console.paint("\(title) told", .green) : "\(title) silent"
        // What is told is explained by all that holds.
        let shown = all || reminder.isTold ? reminder.conditions : reminder.deciding
        return [head]
            + shown.map { condition in
                let mark = condition.holds ? "  + " : "  - "
                return mark + condition.fact + (condition.holds ? "" : " What would change it: \(condition.change)")
            }
    }

    private static func title(_ kind: NotificationKind) -> String {
        switch kind {
        case .pace: "Behind pace"
        case .interval: "A drink is due"
        case .adaptive: "Nothing drunk for long"
        case .goal: "Goal reached"
        case .recovery: "Back on pace"
        case .unadopted: "Bottle in range"
        case .waterlineTime: "Waterline, by time"
        case .waterlinePerDrink: "Waterline, after drinks"
        case .waterlineWarning: "Waterline, warning"
        case .waterlineAbandoned: "Waterline, left open"
        case .waterlineLive: "Waterline"
        }
    }
}
