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

    func perform(_ tracker: TrackerAPI) throws -> SnoozeReport { try tracker.snooze(snooze) }

    func request(_ context: () throws -> CommandContext) throws -> (target: String, body: [JSONValue.Member]) {
        switch try snooze {
        case .minutes(let minutes): ("snooze", [JSONValue.Member("minutes", JSONValue(minutes))])
        case .tomorrow: ("snooze", [JSONValue.Member("until", .string("tomorrow"))])
        }
    }

    func text(_ response: Data, _ context: CommandContext) throws -> [String] {
        guard let until = try JSONDecoder().decode(Response.self, from: response).snoozedUntil else {
            return ["Reminders are not paused."]
        }
        return ["Reminders are paused until \(context.dateTime(Instant(seconds: until)))."]
    }

    private struct Response: Decodable { var snoozedUntil: Int64? }
}
