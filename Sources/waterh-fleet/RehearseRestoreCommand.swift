import ArgumentParser
import CommandKit
import Foundation

struct RehearseRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse-restore",
        abstract:
            "Backs the fleet up, restores that into a database of its own, and compares everything with the original.",
        discussion: """
            As waterh-fleet backup and restore do it; --dump: as PostgreSQL's pg_dump and pg_restore do. The original \
            is only read, at one moment (and gets the keys that are missing), and servers go on meanwhile. The
            database that it makes beside the original (the user needs the right to create one) is called \
            fleet_rehearsal_ and eight more; it and its files are gone when it ends, also when it is
            asked to end (SIGINT, SIGTERM, SIGHUP); what a killed one left behind goes at the next start. It fails \
            where anything differs. Where somebody is forgotten meanwhile it
            begins anew, three times at most.
            """)

    @Flag(help: "With pg_dump and pg_restore.")
    var dump = false

    @Option(
        help:
            "Where the backup lies meanwhile: as large as the fleet's tables. Default: the folder for temporary files.")
    var folder: String?

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        let signals = StopSignals.stream([SIGINT, SIGTERM, SIGHUP])
        // Programs beside this one, and the copy, find the place so; a password stands in no list of processes.
        for (name, value) in try database.environment() { setenv(name, value, 1) }
        let traces = RehearsalTraces(words: database.words),
            rehearsal = RestoreRehearsal(
                words: database.words, dump: dump, folder: folder ?? NSTemporaryDirectory(), traces: traces)
        enum Event { case ended(Result<Void, any Error>), signal(Int32) }
        let (events, event) = AsyncStream.makeStream(of: Event.self)
        Thread.detachNewThread { event.yield(.ended(Result { try rehearsal.run() })) }
        let hearing = Task { for await number in signals { event.yield(.signal(number)) } }
        defer { hearing.cancel() }
        for await first in events {
            switch first {
            case .ended(let result): return try result.get()
            case .signal(let number):
                try traces.takeAway(forGood: true)
                throw CommandFailure(
                    number == SIGINT ? .interrupted : .failed,
                    "The rehearsal was ended before it was over: nothing was compared. What it made is taken away.")
            }
        }
    }
}
