import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore

/// A verb that works on the store: opens it, runs, and turns every error into a sentence and an exit code.
protocol StoreCommand: ParsableCommand {
    var options: StoreOptions { get }
    /// What the store is opened for. A verb that only looks says `.looking`: then it creates, migrates and changes
    /// nothing.
    var access: TrackerStore.Access { get }
    func run(_ desk: Desk) throws
}

extension StoreCommand {
    var access: TrackerStore.Access { .writing }

    func run() throws {
        do {
            if let asking = self as? any AskingCommand, try asking.ask() { return }
            try run(Desk(options, for: access))
        } catch {
            throw Failures.explained(error)
        }
    }
}

/// A verb that also waits for somebody else: the sync server, the desktop.
protocol WaitingCommand: AsyncParsableCommand {
    var options: StoreOptions { get }
    var access: TrackerStore.Access { get }
    func run(_ desk: Desk) async throws
}

extension WaitingCommand {
    var access: TrackerStore.Access { .writing }

    mutating func run() async throws {
        do {
            try await run(Desk(options, for: access))
        } catch {
            throw Failures.explained(error)
        }
    }
}

enum Failures {
    /// Gives every known error its sentence, its exit code (command law C2), and what to do.
    static func explained(_ error: any Error) -> any Error {
        (error as? any Problem).map { CommandFailure($0, advice: Advice.about($0)) } ?? error
    }
}

/// Asks before something that cannot be taken back.
enum Confirmation {
    static func ask(_ question: String, isConfirmed: Bool, console: Console) throws {
        guard !isConfirmed else { return }
        guard console.canAsk else {
            throw CommandFailure(.refused, "\(question) Confirm with --yes.")
        }
        console.prompt("\(question) [y/N] ")
        guard let answer = readLine()?.lowercased(), ["y", "yes"].contains(answer) else {
            throw Refusal("declined", "Nothing was changed.")
        }
    }
}
