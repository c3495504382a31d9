import ArgumentParser
import CommandKit
import Foundation
import Importing
import Store
import TrackerCore

struct Export: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write all drinks to a file.",
        discussion: """
            apple-health is XML for importer apps (Apple Health itself reads no files); csv suits those and spreadsheets; json keeps all that a
            drink has. Everything else that a store has is in a backup: waterh-tracker backup FILE
            """)
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(help: "apple-health, csv or json.") var format: HealthFiles.Format = .appleHealth
    @Option(name: .shortAndLong, help: "The file to write; - or nothing for standard output.", completion: .file()) var output: String?

    func run(_ desk: Desk) throws {
        let file = try OutputFile(output ?? "-", sparing: desk.storeFiles)
        var export = HealthExport(format)
        var bytes = Array(export.opening.utf8)
        var count = 0
        do {
            try desk.store.forEachDrink { drink in
                export.append(drink, to: &bytes)
                count += 1
                guard bytes.count >= 1 << 16 else { return }
                try file.write(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
            try file.write(bytes + Array(export.end.utf8))
            try file.commit()
        } catch is OutputFile.NobodyReads {
            return
        }
        guard let output, output != "-" else { return }
        try desk.say(["drinks": count]) { ["Wrote \(counted(count, "drink")) to \(output)."] }
    }
}

extension HealthFiles.Format: ExpressibleByArgument {}

struct Import: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read drinks from an export of ours or of Apple Health: all, or none.",
        discussion: "The format is recognised. What is known already adds nothing, so a file may be read twice.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "The file; - for standard input.", completion: .file()) var file: String

    private struct Report: Encodable {
        var added: Int
        var known: Int
        var empty: Int
        var state: TrackerSnapshot
    }

    func run(_ desk: Desk) throws {
        let input = try InputFile(file, sparing: desk.storeFiles)
        let outcome = try desk.store.importSamples(desk.context) { take in
            try withoutActuallyEscaping(take) { take in
                let reader = HealthReader(deliver: take)
                try input.read { try reader.feed($0) }
                try reader.finish()
            }
        }
        let snapshot = try desk.state()
        let report = Report(added: outcome.added, known: outcome.known, empty: outcome.empty, state: snapshot)
        try desk.say(report) {
            ["Added \(counted(outcome.added, "drink")), \(outcome.known) known already"
                + (outcome.empty > 0 ? ", \(outcome.empty) of 0 ml passed over." : "."), desk.standing(snapshot)]
        }
    }
}

extension Desk {
    /// The files of the open store: nobody but SQLite may open them, or its locks are gone.
    var storeFiles: [String] { ["", "-wal", "-shm", "-journal"].map { store.path + $0 } }
}

struct Purge: SyncingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete everything: drinks, sessions, settings, tokens, health files. There is no way back.")
    @OptionGroup var options: StoreOptions
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run(_ desk: Desk) async throws {
        try Confirmation.ask("Delete everything in \(desk.store.path)?", isConfirmed: yes, console: desk.console)
        // The server first: when it does not answer, nothing is deleted and the purge can be tried again.
        if let client = try desk.syncClient(), let profile = try desk.store.profile() { try await client.deleteUser(profile.userID) }
        try desk.store.removeHealthFiles()
        try desk.store.purge()
        try desk.say(["purged": true]) { ["Everything is deleted. Start anew with: waterh-tracker setup"] }
    }
}
