import ArgumentParser
import CommandKit
import Store
import TrackerDesk

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Read and change settings; a refused value keeps the old one and names the rule.",
        subcommands: [Get.self, Set.self], defaultSubcommand: Get.self)

    struct Get: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "All settings, or one.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Argument(help: "A setting's name, e.g. hydration.goalMl.") var name: String?

        func run(_ desk: Desk) throws {
            let report = try name.map(desk.tracker.setting) ?? desk.tracker.settings()
            for refusal in report.refused { Diagnostics.warning("A stored value no longer fits. \(refusal)") }
            try desk.say(report) {
                name == nil ? report.lines.map { "\($0.name.padded(34)) \($0.words)" } : report.lines.map(\.value.text)
            }
        }
    }

    struct Set: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change settings: all that are named, or none.",
            discussion: "Example: settings set hydration.goalMl 2000 schedule.wake 06:30")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Name and value, in turn. An optional setting is taken back with: unset") var pairs: [String]

        func validate() throws {
            guard !pairs.isEmpty, pairs.count % 2 == 0 else { throw ValidationError("Write a name and a value, in turn.") }
        }

        func run(_ desk: Desk) throws {
            let changes = stride(from: 0, to: pairs.count, by: 2).map { (name: pairs[$0], text: pairs[$0 + 1]) }
            let report = try desk.tracker.set(changes)
            try desk.say(report) { report.lines.map { "\($0.name) = \($0.words)" } }
        }
    }
}

extension SettingsReport.Line {
    fileprivate var words: String { value == .unset ? "(unset)" : value.text }
}
