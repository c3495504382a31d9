import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
package import TrackerService

extension CommandContext {
    /// One line about the day after a change.
    func summary(_ snapshot: TrackerSnapshot) -> String {
        let pace = snapshot.pace
        return "Today \(snapshot.amountText) (\(pace.percent) %). " + pace.statusText
    }

    func summary() throws -> String { summary(try tracker.state()) }

    fileprivate func report(_ outcome: DrinkOutcome, _ text: String) throws {
        try printReport(outcome) { [text, summary($0.state)] }
    }
}

struct Log: ServiceCommand {
    static let configuration = CommandConfiguration(commandName: "log", abstract: "Log water")
    @OptionGroup var options: StoreOptions
    @Argument(
        help: """
            Amount: millilitres (1–2000), a number with a unit (25cl, 0.25l, 8oz), cup (hydration.cupMl), or quick1, \
            quick2 … (hydration.quickAddMl)
            """
    ) var ml: Amount
    @Option(help: "Time: 14:00, 2026-06-15T14:00, or with an offset (default: now)") var at: String?

    func perform(_ tracker: TrackerAPI) throws -> DrinkOutcome {
        try tracker.logDrink(ml, at: at.map(tracker.moment))
    }

    func request(_ context: () throws -> CommandContext) throws -> (target: String, body: [JSONValue.Member]) {
        ("drinks", [JSONValue.Member("ml", .string(ml.argument))] + (try moment(at, context)))
    }

    func text(_ response: Data, _ context: CommandContext) throws -> [String] {
        guard let drink = try LoggedDrink.stored(response, context) else { return [] }
        return [
            "Logged \(context.amount(drink.ml)) \(context.when(drink.at)) as d\(drink.number).", try context.summary(),
        ]
    }
}

extension Amount: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }

    fileprivate var argument: String {
        switch self {
        case .ml(let ml): "\(ml)"
        case .cup: "cup"
        case .quick(let number): "quick\(number)"
        }
    }
}

struct Undo: ServiceCommand {
    static let configuration = CommandConfiguration(commandName: "undo", abstract: "Undo the last manual change")
    @OptionGroup var options: StoreOptions

    func perform(_ tracker: TrackerAPI) throws -> UndoOutcome { try tracker.undo() }

    func request(_ context: () throws -> CommandContext) throws -> (target: String, body: [JSONValue.Member]) {
        ("undo", [])
    }

    func text(_ response: Data, _ context: CommandContext) throws -> [String] {
        let undone = try JSONDecoder().decode(Response.self, from: response).undone
        let units = (try? context.store.settings().amountUnits) ?? .ml
        // The store's text has millilitres.
        let shown =
            units == .ml ? undone : undone.replacing(/\b(\d+) ml\b/) { Int($0.1).map(units.text) ?? String($0.0) }
        return ["Undid: \(shown).", try context.summary()]
    }

    private struct Response: Decodable { var undone: String }
}

struct Edit: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Change an entry", discussion: "Later polls do not restore the old amount.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "Number (d12 or w7), or key or ID, as history --day today and session show print it") var name:
        String
    @Option(help: "New amount of a drink: millilitres, or a number with a unit", transform: Self.millilitres) var ml:
        Int?
    @Option(help: "New time: 14:00 (on the same day), 2026-06-15T14:00, or with an offset") var at: String?
    @Option(help: "New standard drinks of an alcoholic entry (0.1–10)") var estimate: Double?
    @Option(help: "New amount of a water entry in fluid ounces, or with a unit", transform: OunceText.value) var oz:
        Double?

    private static func millilitres(_ text: String) throws -> Int {
        guard let ml = Amounts.parse(text) else {
            throw ValidationError("invalid amount '\(text)': expected 250, 0.25l or 8oz")
        }
        return ml
    }

    func validate() throws {
        guard ml != nil || at != nil || estimate != nil || oz != nil else {
            throw ValidationError("nothing to change: use --ml, --at, --estimate or --oz")
        }
        guard ml == nil || (estimate == nil && oz == nil) else {
            throw ValidationError("--ml changes drinks, --estimate and --oz change entries of a session")
        }
    }

    func run(_ context: CommandContext) throws {
        switch try context.tracker.edit(name, EntryChange(ml: ml, timeText: at, estimate: estimate, oz: oz)) {
        case .session(let session): try SessionText.report(context, session, "Changed \(name).")
        case .drink(let outcome):
            let drink = outcome.drink
            try context.report(
                outcome, "Changed: \(context.amount(drink.ml)) at \(context.dateTime(drink)), now d\(drink.number).")
        }
    }
}

struct Delete: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete an entry",
        discussion: "Later polls do not restore a deleted drink. A water from the bottle is excluded from its session.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "Number (d12 or w7), or key or ID") var name: String

    func run(_ context: CommandContext) throws {
        switch try context.tracker.delete(name) {
        case .session(let session): try SessionText.report(context, session, "Deleted \(name).")
        case .drink(let outcome):
            let drink = outcome.drink
            try context.report(outcome, "Deleted \(context.amount(drink.ml)) of \(context.dateTime(drink)).")
        }
    }
}

struct ResetToday: StoreCommand {
    static let configuration = CommandConfiguration(commandName: "reset-today", abstract: "Delete today's drinks")
    @OptionGroup var options: StoreOptions

    func run(_ context: CommandContext) throws {
        try context.printReport(context.tracker.resetToday()) { outcome in
            let count = outcome.deleted.count
            return [
                count == 0
                    ? "No drink was logged today."
                    : "Deleted \(counted(count, "drink")). Undo it with: waterh-tracker undo",
                context.summary(outcome.state),
            ]
        }
    }
}
