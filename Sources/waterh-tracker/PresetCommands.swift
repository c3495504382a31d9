import ArgumentParser
import CommandSupport
import Store
import TrackerCore
import TrackerService

struct PresetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preset", abstract: "Drinks that are logged in one action.",
        subcommands: [List.self, Add.self, Edit.self, Delete.self], defaultSubcommand: List.self)

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "All presets.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }

        func run(_ desk: Desk) throws {
            let list = try desk.tracker.presets()
            try desk.say(list) {
                list.presets.isEmpty
                    ? ["No presets. Add one with: preset add NAME --type beer"] : list.presets.map(\.line)
            }
        }
    }

    struct Add: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a preset.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Its name.") var name: String
        @Option(help: "beer, wine, liquor or cocktail.") var type: DrinkType = .cocktail
        @Option(help: "Ounces.", transform: OunceText.value) var oz: Double?
        @Option(help: "Percent of alcohol by volume.") var abv: Double?
        @Option(help: "Standard drinks, 0.1-10. Default: from --oz and --abv, else 1.0.") var estimate: Double?

        func run(_ desk: Desk) throws {
            let preset = try desk.tracker.addPreset(
                name, PresetValues(type: type, sizeOz: oz, abv: abv, estimate: estimate))
            try desk.say(preset) { ["Added.", preset.line] }
        }
    }

    struct Edit: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "edit", abstract: "Change a preset; entries logged with it stay as they are.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Its name or id.") var preset: String
        @Option(help: "A new name.") var name: String?
        @Option(help: "beer, wine, liquor or cocktail.") var type: DrinkType?
        @Option(help: "Ounces, or none.", transform: { try $0 == "none" ? .nothing : .number(OunceText.value($0)) })
        var oz: Amount?
        @Option(help: "Percent of alcohol by volume, or none.") var abv: Amount?
        @Option(help: "Standard drinks, 0.1-10.") var estimate: Double?

        func run(_ desk: Desk) throws {
            var without: Set<PresetValues.Part> = []
            if oz == .nothing { without.insert(.size) }
            if abv == .nothing { without.insert(.strength) }
            let changed = try desk.tracker.editPreset(
                preset,
                PresetValues(
                    name: name, type: type, sizeOz: oz?.value, abv: abv?.value, estimate: estimate, without: without))
            try desk.say(changed) { ["Changed.", changed.line] }
        }
    }

    /// A number, or the word that takes one back.
    enum Amount: ExpressibleByArgument, Equatable {
        case nothing
        case number(Double)

        init?(argument: String) {
            if argument == "none" {
                self = .nothing
            } else if let number = Double(argument) {
                self = .number(number)
            } else {
                return nil
            }
        }

        var value: Double? { if case .number(let number) = self { number } else { nil } }
    }

    struct Delete: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete", abstract: "Delete a preset; it is not made again.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Its name or id.") var preset: String

        func run(_ desk: Desk) throws {
            let gone = try desk.tracker.deletePreset(preset)
            try desk.say(gone) { ["Deleted \(gone.preset.name)."] }
        }
    }
}

extension DrinkType: ExpressibleByArgument {}

extension PresetReport {
    fileprivate var line: String {
        let size = preset.sizeOz.map { "\(Amounts.decimal($0)) oz" } ?? "--"
        return
            """
            \(preset.id.prefix(8))  \(preset.name.padded(16)) \(preset.drinkType.rawValue.padded(9)) \
            \(size.aligned(8))  
            """
                + "\(Amounts.decimal(preset.standardDrinkEstimate)) standard"
    }
}
