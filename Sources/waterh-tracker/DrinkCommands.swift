import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

extension Desk {
    /// One line on the day after a change.
    func standing(_ snapshot: TrackerSnapshot) -> String {
        let pace = snapshot.pace
        return "Today \(snapshot.amountText) (\(pace.percent) %). "
            + pace.statusText
    }

    /// The same where the day is looked at afterwards.
    func standing() throws -> String { standing(try tracker.state()) }

    fileprivate func tell(_ outcome: DrinkOutcome, _ words: String) throws {
        try say(outcome) { [words, standing(outcome.state)] }
    }
}

struct Log: AskingCommand {
    static let configuration = CommandConfiguration(commandName: "log", abstract: "Log a drink by hand, 1-2000 ml.")
    @OptionGroup var options: StoreOptions
    @Argument(
        help:
            """
            Millilitres, or with a unit: 250ml, 25cl, 0.25l, 8oz; or cup (hydration.cupMl), or quick1, quick2 … \
            (hydration.quickAddMl).
            """
    ) var ml: Amount
    @Option(help: "When it was drunk: 14:00, 2026-06-15T14:00, or with an offset. Default: now.") var at: String?

    func run(_ desk: Desk) throws {
        let outcome = try desk.tracker.logDrink(ml, at: at.map(desk.tracker.moment))
        try desk.tell(outcome, Self.words(outcome.stored, desk))
    }

    func request(_ desk: () throws -> Desk) throws -> (target: String, body: [JSONValue.Member]) {
        ("drinks", [JSONValue.Member("ml", .string(ml.word))] + (try moment(at, desk)))
    }

    func words(_ answer: Data, _ desk: Desk) throws -> [String] {
        try LoggedDrink.stored(answer, desk).map { [Self.words($0, desk), try desk.standing()] } ?? []
    }

    private static func words(_ drink: StoredDrink, _ desk: Desk) -> String {
        "Logged \(desk.amount(drink.ml)) \(desk.when(drink.at)) as d\(drink.number)."
    }
}

extension Amount: ExpressibleByArgument {
    /// From what stands behind an option.
    package init?(argument: String) { self.init(argument) }

    /// As it is typed.
    fileprivate var word: String {
        switch self {
        case .ml(let ml): "\(ml)"
        case .cup: "cup"
        case .quick(let number): "quick\(number)"
        }
    }
}

struct Undo: AskingCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Take the last change by hand back: log, edit, delete, reset-today, drink or water.")
    @OptionGroup var options: StoreOptions

    func run(_ desk: Desk) throws {
        let outcome = try desk.tracker.undo()
        try desk.say(outcome) { [Self.words(outcome.undone, desk), desk.standing(outcome.state)] }
    }

    func request(_ desk: () throws -> Desk) throws -> (target: String, body: [JSONValue.Member]) { ("undo", []) }

    func words(_ answer: Data, _ desk: Desk) throws -> [String] {
        [Self.words(try JSONDecoder().decode(Answer.self, from: answer).undone, desk), try desk.standing()]
    }

    private struct Answer: Decodable { var undone: String }

    /// The store remembers millilitres.
    private static func words(_ undone: String, _ desk: Desk) -> String {
        let units = (try? desk.tracker.settingsInForce().amountUnits) ?? .ml
        let shown =
            units == .ml ? undone : undone.replacing(/\b(\d+) ml\b/) { Int($0.1).map(units.text) ?? String($0.0) }
        return "Took back: \(shown)."
    }
}

struct Edit: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a drink (d12) or an entry of a session (w7).",
        discussion: "A drink's record in the bottle stays known, so that no poll brings the old amount back.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "d12 or its key; w7 or its id. See: history --day today, session show.") var name: String
    @Option(help: "A drink's new amount: millilitres, or with a unit as at log.", transform: Self.millilitres) var ml:
        Int?
    @Option(help: "The new time: 14:00 (a drink stays in its day), 2026-06-15T14:00, or with an offset.") var at:
        String?
    @Option(help: "An alcohol entry's standard drinks, 0.1-10.") var estimate: Double?
    @Option(help: "A water entry's ounces.", transform: OunceText.value) var oz: Double?

    private static func millilitres(_ text: String) throws -> Int {
        guard let ml = Amounts.typed(text) else {
            throw ValidationError("'\(text)' is no amount: write 250, 0.25l or 8oz.")
        }
        return ml
    }

    func validate() throws {
        guard ml != nil || at != nil || estimate != nil || oz != nil else {
            throw ValidationError("Say what to change: --ml, --at, --estimate or --oz.")
        }
        guard ml == nil || (estimate == nil && oz == nil) else {
            throw ValidationError("--ml is for drinks, --estimate and --oz are for entries of a session.")
        }
    }

    func run(_ desk: Desk) throws {
        switch try desk.tracker.edit(name, EntryChange(ml: ml, typed: at, estimate: estimate, oz: oz)) {
        case .session(let session): try SessionWords.tell(desk, session, "Changed \(name).")
        case .drink(let outcome):
            let drink = outcome.stored
            try desk.tell(
                outcome, "Changed: \(desk.amount(drink.ml)) at \(desk.dateTime(drink.at)), now d\(drink.number).")
        }
    }
}

struct Delete: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a drink (d12) or an entry of a session (w7).",
        discussion: "A deleted drink does not come back with the next poll. A water from the bottle's sips is excluded."
    )
    @OptionGroup var options: StoreOptions
    @Argument(help: "d12 or its key; w7 or its id.") var name: String

    func run(_ desk: Desk) throws {
        switch try desk.tracker.delete(name) {
        case .session(let session): try SessionWords.tell(desk, session, "Deleted \(name).")
        case .drink(let outcome):
            let drink = outcome.stored
            try desk.tell(outcome, "Deleted \(desk.amount(drink.ml)) of \(desk.dateTime(drink.at)).")
        }
    }
}

struct ResetToday: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset-today",
        abstract: "Delete today's drinks, the bottle's too; the next poll does not bring them back.")
    @OptionGroup var options: StoreOptions

    func run(_ desk: Desk) throws {
        let outcome = try desk.tracker.resetToday()
        try desk.say(outcome) {
            let count = outcome.deleted.count
            return [
                count == 0 ? "Nothing was drunk today." : "Deleted \(counted(count, "drink")). Take it back with: undo",
                desk.standing(outcome.state),
            ]
        }
    }
}
