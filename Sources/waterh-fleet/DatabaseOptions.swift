import ArgumentParser
import CommandKit
import FleetStore
import Foundation

/// Where the fleet's tables lie.
struct DatabaseOptions: ParsableArguments {
    @Option(
        name: .long,
        help:
            "The database, as libpq takes it. Default: WATERH_FLEET_DATABASE, else libpq's own (PGHOST, PGDATABASE, …)."
    )
    var database: String?

    var words: String { database ?? ProcessInfo.processInfo.environment["WATERH_FLEET_DATABASE"] ?? "" }

    /// Does something with the store, each statement within the limit, and turns what goes wrong into a command's
    /// failure.
    func use<Result>(checked: Bool = true, limit: Duration = .seconds(20), _ body: (FleetStore) throws -> Result) throws
        -> Result
    {
        do {
            let store = FleetStore(try FleetConnection(words, statementLimit: limit))
            if checked { try store.check() }
            return try body(store)
        } catch let failure as FleetFailure {
            throw Self.failure(failure)
        }
    }

    /// What programs beside this one are to find in their environment, so that they come to the same database.
    func environment() throws -> [String: String] {
        do { return try FleetConnection.environment(words) } catch { throw Self.failure(error) }
    }

    static func failure(_ failure: FleetFailure) -> CommandFailure {
        let advice: String? =
            switch failure.kind {
            case .schema: "Run waterh-fleet migrate of the newest program first."
            case .encoding: "Make another one, and name that: createdb --template=template0 --encoding=UTF8 NAME"
            default: nil
            }
        return CommandFailure(failure.exitReason.status, failure.sentence, advice: advice, code: failure.kind.rawValue)
    }
}

extension FleetFailure: HasExitReason {
    /// `invalid` where somebody asked wrongly, else `failed`.
    public var exitReason: ExitReason { kind == .wrongUse ? .invalid : .failed }
}
