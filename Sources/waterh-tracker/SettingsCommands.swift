import ArgumentParser
import CommandKit
import Store
import TrackerCore

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
            let (settings, refused) = try desk.store.settingsAndRefused()
            for refusal in refused { Diagnostics.warning("A stored value no longer fits. \(refusal)") }
            if let name {
                guard let value = settings.value(of: name) else {
                    throw CommandFailure(
                        .wrongUse, "There is no setting \"\(name)\".", advice: "See the names with: waterh-tracker settings get")
                }
                try desk.say([name: value]) { [value.text] }
            } else {
                let all = Settings.catalogue.map { ($0.name, settings.value(of: $0.name) ?? .unset) }
                try desk.say(Dictionary(all, uniquingKeysWith: { first, _ in first })) {
                    all.map { "\($0.padded(34)) \($1 == .unset ? "(unset)" : $1.text)" }
                }
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
            let settings = try desk.store.changeSettings(try changes.map { try resolved($0, desk) }, desk.context)
            let now = changes.map { ($0.name, settings.value(of: $0.name) ?? .unset) }
            try desk.say(Dictionary(now, uniquingKeysWith: { _, last in last })) {
                now.map { "\($0) = \($1 == .unset ? "(unset)" : $1.text)" }
            }
        }

        /// A preset may be named; its id is what the setting keeps.
        private func resolved(_ change: (name: String, text: String), _ desk: Desk) throws -> (name: String, text: String) {
            guard change.name.lowercased() == "waterline.defaultpreset", let preset = try desk.store.preset(named: change.text) else {
                return change
            }
            return (change.name, preset.id)
        }
    }
}
