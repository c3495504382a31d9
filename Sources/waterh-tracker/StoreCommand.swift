import ArgumentParser
import CommandKit
import Store
import TrackerCore

/// A verb that works on the store: opens it, runs, and turns every error into a sentence and an exit code.
protocol StoreCommand: ParsableCommand {
    var options: StoreOptions { get }
    func run(_ desk: Desk) throws
}

extension StoreCommand {
    func run() throws {
        try Failures.explained {
            let desk = try Desk(options)
            try run(desk)
            do {
                try desk.store.updateHealthFiles()
            } catch {
                Diagnostics.warning("The health files beside the store could not be written (the store is right): \(error)")
            }
        }
    }
}

enum Failures {
    /// Runs, and gives every known error its exit code (`spec/command-line.md`).
    static func explained(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError {
            throw CommandFailure(status(error.kind), "\(error.what) (\(error.path)).", advice: error.advice)
        } catch let error as Refusal {
            throw CommandFailure(.refused, error.description)
        } catch let error as WaterlineSession.Refusal {
            throw CommandFailure(.refused, error.description)
        } catch let error as SettingRefusal {
            throw CommandFailure(
                error.kept == nil ? .wrongUse : .refused, error.description,
                advice: error.kept == nil ? "See the names with: waterh-tracker settings get" : nil)
        } catch let error as HealthFileError {
            throw CommandFailure(.badInput, error.description, advice: "Nothing was imported.")
        } catch let error as UnknownZone {
            throw CommandFailure(.wrongUse, error.description)
        }
    }

    private static func status(_ kind: StoreError.Kind) -> ExitStatus {
        switch kind {
        case .damaged, .foreign, .newer: .badInput
        default: .failed
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
