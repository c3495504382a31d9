import ArgumentParser
import CommandSupport
import Store
import TrackerCore
import TrackerService

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Read and change settings; a refused value keeps the old one and names the rule.",
        subcommands: [Get.self, Set.self], defaultSubcommand: Get.self)

    struct Get: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "get", abstract: "All settings, or one.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Option(
            help: ArgumentHelp(
                "Of this bottle: its address or name. What it has of its own goes before the settings of all bottles.",
                valueName: "bottle"))
        var bottle: String?
        @Argument(help: "A setting's name, e.g. hydration.goalMl.", completion: .list(Settings.catalogue.map(\.name)))
        var name: String?

        func run(_ desk: Desk) throws {
            if let bottle { return try say(desk.tracker.settings(ofBottle: bottle), desk) }
            let report = try name.map(desk.tracker.setting) ?? desk.tracker.settings()
            for refusal in report.refused { Diagnostics.warning("A stored value no longer fits. \(refusal)") }
            try desk.say(report) {
                name == nil ? report.lines.map { "\($0.name.padded(34)) \($0.words)" } : report.lines.map(\.value.text)
            }
        }

        private func say(_ report: BottleSettingsReport, _ desk: Desk) throws {
            let lines = try report.settings.lines.filter {
                try name == nil || $0.name == Settings.bottleSetting(name ?? "")
            }
            try desk.say(report) {
                name != nil
                    ? lines.map(\.value.text)
                    : lines.map {
                        "\($0.name.padded(34)) \($0.words)\(report.own.contains($0.name) ? "  (its own)" : "")"
                    }
            }
        }
    }

    struct Set: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Change settings: all that are named, or none.",
            discussion: "Example: settings set hydration.goalMl 2000 schedule.wake 06:30")
        @OptionGroup var options: StoreOptions
        @Option(
            help: ArgumentHelp(
                """
                For this bottle alone: its address or name. Only settings that begin with bottle.; the value \
                inherit takes its own back.
                """,
                valueName: "bottle"))
        var bottle: String?
        @Argument(
            help: "Name and value, in turn. An optional setting is taken back with: unset",
            completion: .list(Settings.catalogue.map(\.name))) var pairs: [String]

        /// A bottle's own setting is given up.
        private static let asAll = "inherit"

        func validate() throws {
            guard !pairs.isEmpty, pairs.count % 2 == 0 else {
                throw ValidationError("Write a name and a value, in turn.")
            }
        }

        func run(_ desk: Desk) throws {
            let changes = stride(from: 0, to: pairs.count, by: 2).map { (name: pairs[$0], text: pairs[$0 + 1]) }
            if let bottle {
                let own = changes.map { (name: $0.name, text: $0.text == Self.asAll ? nil : $0.text) }
                let report = try desk.tracker.set(own, ofBottle: bottle)
                let named = Swift.Set(changes.map { $0.name.lowercased() })
                return try desk.say(report) {
                    report.settings.lines.filter { named.contains($0.name.lowercased()) }.map {
                        "\($0.name) = \($0.words)"
                    }
                }
            }
            let report = try desk.tracker.set(changes)
            try desk.say(report) { report.lines.map { "\($0.name) = \($0.words)" } }
        }
    }
}

extension SettingsReport.Line {
    fileprivate var words: String { value == .unset ? "(unset)" : value.text }
}
