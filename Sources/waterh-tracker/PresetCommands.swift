import ArgumentParser
import CommandKit
import Store
import TrackerCore

struct PresetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preset", abstract: "Drinks that are logged in one action.",
        subcommands: [List.self, Add.self, Edit.self, Delete.self], defaultSubcommand: List.self)

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "All presets.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }

        func run(_ desk: Desk) throws {
            let presets = try desk.store.presets()
            try desk.say(["presets": presets.map(PresetReport.init)]) {
                presets.isEmpty ? ["No presets. Add one with: preset add NAME --type beer"] : presets.map(PresetReport.line)
            }
        }
    }

    struct Add: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Add a preset.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Its name.") var name: String
        @Option(help: "beer, wine, liquor or cocktail.") var type: DrinkType = .cocktail
        @Option(help: "Ounces.") var oz: Double?
        @Option(help: "Percent of alcohol by volume.") var abv: Double?
        @Option(help: "Standard drinks, 0.1-10. Default: from --oz and --abv, else 1.0.") var estimate: Double?

        func run(_ desk: Desk) throws {
            let preset = try desk.store.addPreset(
                name: name, drinkType: type, sizeOz: oz, abv: abv,
                estimate: estimate ?? PresetReport.estimate(oz, abv) ?? 1, desk.context)
            try desk.say(PresetReport(preset)) { ["Added."] + [PresetReport.line(preset)] }
        }
    }

    struct Edit: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Change a preset; entries logged with it stay as they are.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Its name or id.") var preset: String
        @Option(help: "A new name.") var name: String?
        @Option(help: "beer, wine, liquor or cocktail.") var type: DrinkType?
        @Option(help: "Ounces.") var oz: Double?
        @Option(help: "Percent of alcohol by volume.") var abv: Double?
        @Option(help: "Standard drinks, 0.1-10.") var estimate: Double?

        func run(_ desk: Desk) throws {
            var changed = try PresetReport.find(preset, desk)
            changed.name = name ?? changed.name
            changed.drinkType = type ?? changed.drinkType
            changed.sizeOz = oz ?? changed.sizeOz
            changed.abv = abv ?? changed.abv
            if let estimate = estimate ?? (oz == nil && abv == nil ? nil : PresetReport.estimate(changed.sizeOz, changed.abv)) {
                guard estimate.isFinite else { throw WaterlineSession.Refusal.estimate }
                changed.standardDrinkEstimate = StandardDrinks.rounded(estimate)
            }
            try desk.store.savePreset(changed, desk.context)
            try desk.say(PresetReport(changed)) { ["Changed.", PresetReport.line(changed)] }
        }
    }

    struct Delete: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a preset; it is not made again.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Its name or id.") var preset: String

        func run(_ desk: Desk) throws {
            let found = try PresetReport.find(preset, desk)
            try desk.store.deletePreset(found.id, desk.context)
            try desk.say(PresetReport(found)) { ["Deleted \(found.name)."] }
        }
    }
}

extension DrinkType: ExpressibleByArgument {}

struct PresetReport: Encodable {
    var id: String
    var name: String
    var drinkType: String
    @OrNull var sizeOz: Double?
    @OrNull var abv: Double?
    var standardDrinkEstimate: Double

    init(_ preset: DrinkPreset) {
        id = preset.id
        name = preset.name
        drinkType = preset.drinkType.rawValue
        sizeOz = preset.sizeOz
        abv = preset.abv
        standardDrinkEstimate = preset.standardDrinkEstimate
    }

    static func line(_ preset: DrinkPreset) -> String {
        let size = preset.sizeOz.map { "\(Amounts.decimal($0)) oz" } ?? "--"
        return "\(preset.id.prefix(8))  \(preset.name.padded(16)) \(preset.drinkType.rawValue.padded(9)) \(size.aligned(8))  "
            + "\(Amounts.decimal(preset.standardDrinkEstimate)) standard"
    }

    static func find(_ name: String, _ desk: Desk) throws -> DrinkPreset {
        guard let preset = try desk.store.preset(named: name) else {
            throw Refusal("noSuchPreset", "There is no preset \"\(name)\". See them with: waterh-tracker preset list")
        }
        return preset
    }

    static func estimate(_ oz: Double?, _ abv: Double?) -> Double? {
        guard let oz, let abv, oz.isFinite, abv.isFinite else { return nil }
        return StandardDrinks.estimate(sizeOz: oz, abvPercent: abv)
    }
}
