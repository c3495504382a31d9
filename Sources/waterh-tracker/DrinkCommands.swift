import ArgumentParser
import CommandKit
import Store
import TrackerCore

/// What a change of drinks answers: the drink, and how the day stands now.
private struct DrinkOutcome: Encodable {
    var drink: DrinkReport
    var state: TrackerSnapshot
}

extension Desk {
    /// Whether a name means an entry of a session rather than a drink. What our lists show comes first; where a key of
    /// somebody else's file looks like it, that is said.
    fileprivate func meansLog(_ name: String) throws -> Bool {
        let drinks = try store.drinks(named: name)
        if let shown = drinks.first, name == "d\(shown.number)" {
            for other in drinks.dropFirst() { Diagnostics.warning("\(name) is also the key of another drink, d\(other.number). This is about \(name) of our lists.") }
            return false
        }
        return try store.hasLog(named: name)
    }

    /// One line on the day after a change.
    func standing(_ snapshot: TrackerSnapshot) -> String {
        let pace = snapshot.pace
        return "Today \(Amounts.millilitres(pace.dailyTotalMl)) / \(Amounts.millilitres(pace.dailyGoalMl)) (\(pace.percent) %). "
            + pace.statusText
    }

    fileprivate func tell(_ drink: StoredDrink, _ words: String) throws {
        let snapshot = try state()
        try say(DrinkOutcome(drink: DrinkReport(drink), state: snapshot)) { [words, standing(snapshot)] }
    }
}

struct Log: StoreCommand {
    static let configuration = CommandConfiguration(abstract: "Log a drink by hand, 1-2000 ml.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "Millilitres; or cup (hydration.cupMl), or quick1, quick2 … (hydration.quickAddMl).") var ml: Amount
    @Option(help: "When it was drunk: 14:00, 2026-06-15T14:00, or with an offset. Default: now.") var at: String?

    func run(_ desk: Desk) throws {
        let at = try at.map { try Moment.parse($0, now: desk.now, zone: desk.zone) }
        let ml = try self.ml.millilitres(desk.store.settings())
        let drink = try desk.store.logDrink(ml: ml, at: at, desk.context)
        try desk.tell(drink, "Logged \(Amounts.millilitres(ml)) at \(desk.time(drink.at)) as d\(drink.number).")
    }
}

/// An amount as it is typed: a number, or the name of one that the settings have.
enum Amount: ExpressibleByArgument {
    case ml(Int)
    case cup
    /// Counted from 1.
    case quick(Int)

    init?(argument: String) {
        if let ml = Int(argument) {
            self = .ml(ml)
        } else if argument == "cup" {
            self = .cup
        } else if argument.hasPrefix("quick"), let number = Int(argument.dropFirst(5)), number > 0 {
            self = .quick(number)
        } else {
            return nil
        }
    }

    func millilitres(_ settings: Settings) throws -> Int {
        switch self {
        case .ml(let ml): return ml
        case .cup: return settings.cupMl
        case .quick(let number):
            let amounts = settings.quickAddMl
            guard amounts.indices.contains(number - 1) else {
                throw Refusal("noSuchAmount", "There is no quick\(number): hydration.quickAddMl has \(counted(amounts.count, "amount")).")
            }
            return amounts[number - 1]
        }
    }
}

struct Undo: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take the last change by hand back: log, edit, delete, reset-today, drink or water.")
    @OptionGroup var options: StoreOptions

    private struct Outcome: Encodable {
        var undone: String
        var state: TrackerSnapshot
    }

    func run(_ desk: Desk) throws {
        let undone = try desk.store.undo(desk.context)
        let snapshot = try desk.state()
        try desk.say(Outcome(undone: undone, state: snapshot)) { ["Took back: \(undone).", desk.standing(snapshot)] }
    }
}

struct Edit: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change a drink (d12) or an entry of a session (w7).",
        discussion: "A drink's record in the bottle stays known, so that no poll brings the old amount back.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "d12 or its key; w7 or its id. See: history --day today, session show.") var name: String
    @Option(help: "A drink's new amount, ml.") var ml: Int?
    @Option(help: "The new time: 14:00, 2026-06-15T14:00, or with an offset.") var at: String?
    @Option(help: "An alcohol entry's standard drinks, 0.1-10.") var estimate: Double?
    @Option(help: "A water entry's ounces.") var oz: Double?

    func validate() throws {
        guard ml != nil || at != nil || estimate != nil || oz != nil else {
            throw ValidationError("Say what to change: --ml, --at, --estimate or --oz.")
        }
        guard ml == nil || (estimate == nil && oz == nil) else {
            throw ValidationError("--ml is for drinks, --estimate and --oz are for entries of a session.")
        }
    }

    func run(_ desk: Desk) throws {
        let at = try at.map { try Moment.parse($0, now: desk.now, zone: desk.zone) }
        if try desk.meansLog(name) {
            guard ml == nil else { throw CommandFailure(.wrongUse, "\(name) is an entry of a session: use --estimate or --oz.") }
            _ = try desk.store.editLog(name, at: at, estimate: estimate, amountOz: try Water.checked(oz), desk.context)
            try SessionWords.tell(desk, "Changed \(name).")
        } else {
            guard estimate == nil, oz == nil else { throw CommandFailure(.wrongUse, "\(name) is not an entry of a session: use --ml or --at.") }
            let drink = try desk.store.editDrink(name, ml: ml, at: at, desk.context)
            try desk.tell(drink, "Changed: \(Amounts.millilitres(drink.ml)) at \(desk.dateTime(drink.at)), now d\(drink.number).")
        }
    }
}

struct Delete: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete a drink (d12) or an entry of a session (w7).",
        discussion: "A deleted drink does not come back with the next poll. A water from the bottle's sips is excluded.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "d12 or its key; w7 or its id.") var name: String

    func run(_ desk: Desk) throws {
        if try desk.meansLog(name) {
            try desk.store.deleteLog(name, desk.context)
            try SessionWords.tell(desk, "Deleted \(name).")
        } else {
            let drink = try desk.store.deleteDrink(name, desk.context)
            try desk.tell(drink, "Deleted \(Amounts.millilitres(drink.ml)) of \(desk.dateTime(drink.at)).")
        }
    }
}

struct ResetToday: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset-today",
        abstract: "Delete today's drinks, the bottle's too; the next poll does not bring them back.")
    @OptionGroup var options: StoreOptions

    private struct Outcome: Encodable {
        var deleted: [DrinkReport]
        var state: TrackerSnapshot
    }

    func run(_ desk: Desk) throws {
        let gone = try desk.store.resetToday(desk.context)
        let snapshot = try desk.state()
        try desk.say(Outcome(deleted: gone.map(DrinkReport.init), state: snapshot)) {
            [gone.isEmpty ? "Nothing was drunk today." : "Deleted \(counted(gone.count, "drink")). Take it back with: undo", desk.standing(snapshot)]
        }
    }
}
