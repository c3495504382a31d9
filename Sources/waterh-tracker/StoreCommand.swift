import ArgumentParser
import CommandKit
import CommandStore
import Foundation
import Store
import Sync
import TrackerCore

/// A verb that works on the store: opens it, runs, and turns every error into a sentence and an exit code.
protocol StoreCommand: ParsableCommand {
    var options: StoreOptions { get }
    /// What the store is opened for. A verb that only looks says `.looking`: then it creates, migrates and changes nothing.
    var access: TrackerStore.Access { get }
    func run(_ desk: Desk) throws
}

extension StoreCommand {
    var access: TrackerStore.Access { .writing }

    func run() throws {
        do {
            let desk = try Desk(options, for: access)
            try run(desk)
            desk.finish()
        } catch {
            throw Failures.explained(error)
        }
    }
}

/// A verb that also talks to the sync server.
protocol SyncingCommand: AsyncParsableCommand {
    var options: StoreOptions { get }
    var access: TrackerStore.Access { get }
    func run(_ desk: Desk) async throws
}

extension SyncingCommand {
    var access: TrackerStore.Access { .writing }

    mutating func run() async throws {
        do {
            let desk = try Desk(options, for: access)
            try await run(desk)
            desk.finish()
        } catch {
            throw Failures.explained(error)
        }
    }
}

extension Desk {
    /// After the commit of a verb that changed something.
    func finish() {
        guard store.access == .writing, (try? store.hasChanged()) ?? true else { return }
        for trouble in store.afterCommit(context) { Diagnostics.warning(trouble) }
    }

    /// The server to tell, where `sync.url` names one.
    func syncClient() throws -> SyncClient? { try SyncClient.named(by: store.settings()) }
}

enum Failures {
    /// Gives every known error its sentence and its exit code (command law C2).
    static func explained(_ error: any Error) -> any Error {
        switch error {
        case let error as StoreError: CommandFailure(error)
        case let error as Refusal: CommandFailure(.refused, error.description)
        case let error as WaterlineSession.Refusal: CommandFailure(.refused, error.description)
        case let error as SettingRefusal where error.kept == nil:
            CommandFailure(.wrongUse, error.description, advice: "See the names with: waterh-tracker settings get")
        case let error as SettingRefusal: CommandFailure(.refused, error.description)
        case let error as HealthFileError:
            CommandFailure(.badInput, error.description, advice: "Nothing was imported.")
        case let error as UnsupportedInstant: CommandFailure(.wrongUse, error.description)
        case let error as UnknownZone: CommandFailure(.wrongUse, error.description)
        case let error as SyncTrouble:
            CommandFailure(.failed, error.description, advice: "Try again when the server is there, or unset sync.url.")
        default: error
        }
    }
}

/// Asks before something that cannot be taken back.
enum Confirmation {
    static func ask(_ question: String, isConfirmed: Bool, console: Console) throws {
        guard !isConfirmed else { return }
        guard console.canAsk else {
            throw Refusal("confirmation", "\(question) Confirm with --yes.")
        }
        console.prompt("\(question) [y/N] ")
        guard let answer = readLine()?.lowercased(), ["y", "yes"].contains(answer) else {
            throw Refusal("confirmation", "Nothing was changed.")
        }
    }
}
