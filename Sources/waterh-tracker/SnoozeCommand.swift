import ArgumentParser
import CommandSupport
import Foundation
import TrackerCore
import TrackerService

struct SnoozeCommand: ServiceCommand {
    static let configuration = CommandConfiguration(
        commandName: "snooze", abstract: "Pause the hydration reminders",
        discussion: "Waterline reminders are not paused. Reminders that are due at the end of the pause are sent then.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "Pause in minutes (1–1440), tomorrow for the rest of the day, or off to end a pause")
    var length = "30"

    func validate() throws { _ = try snooze }

    private var snooze: Snooze {
        get throws {
            switch length {
            case "off": return .minutes(0)
            case "tomorrow": return .tomorrow
            default:
                guard let minutes = Int(length), (0...Snooze.longestMinutes).contains(minutes) else {
                    throw ValidationError(
                        "invalid length '\(length)': expected 1–\(Snooze.longestMinutes) minutes, tomorrow or off")
                }
                return .minutes(minutes)
            }
        }
    }

    func run(_ context: CommandContext) throws {
        let report = try context.tracker.snooze(snooze)
        try context.printReport(report) { [Self.text(report.until, context)] }
    }

    func request(_ context: () throws -> CommandContext) throws -> (target: String, body: [JSONValue.Member]) {
        switch try snooze {
        case .minutes(let minutes): ("snooze", [JSONValue.Member("minutes", JSONValue(minutes))])
        case .tomorrow: ("snooze", [JSONValue.Member("until", .string("tomorrow"))])
        }
    }

    func text(_ answer: Data, _ context: CommandContext) throws -> [String] {
        let until = try JSONDecoder().decode(Answer.self, from: answer).snoozedUntil
        return [Self.text(until.map { Instant(milliseconds: $0 * 1000) }, context)]
    }

    private struct Answer: Decodable { var snoozedUntil: Int64? }

    private static func text(_ until: Instant?, _ context: CommandContext) -> String {
        until.map { "Reminders are paused until \(context.dateTime($0))." } ?? "Reminders are not paused."
    }
}
