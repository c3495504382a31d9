import ArgumentParser
import CommandKit
import Foundation
import Store
import TrackerCore
import TrackerDesk

struct Export: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write all drinks to a file.",
        discussion: """
            apple-health is XML for importer apps (Apple Health itself reads no files); csv suits those and spreadsheets; json keeps all that a
            drink has. With --json and without --output the answer is one object: the drinks, as json has them. Everything else that a store has is in a backup: waterh-tracker backup FILE
            """)
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(help: "apple-health, csv or json. Default: apple-health; with --json and without --output: json.") var format: HealthFiles.Format?
    @Option(name: .shortAndLong, help: "The file to write; - or nothing for standard output.", completion: .file()) var output: String?

    func run(_ desk: Desk) throws {
        // On standard output the drinks are the answer, and with --json that is one object.
        let isAnswer = desk.isJSON && output ?? "-" == "-"
        guard !isAnswer || format ?? .json == .json else {
            throw CommandFailure(
                .wrongUse, "With --json the answer is one JSON object, and \(format?.rawValue ?? "this") is none.",
                advice: "Leave --json out, or name a file with --output.")
        }
        let file = try OutputFile(output ?? "-", sparing: desk.storeFiles)
        let report: ExportReport
        do {
            if isAnswer { try file.write(Array(#"{"drinks": "#.utf8)) }
            report = try desk.tracker.exportDrinks(format ?? (isAnswer ? .json : .appleHealth)) { try file.write($0) }
            if isAnswer { try file.write(Array("}\n".utf8)) }
            try file.commit()
        } catch is OutputFile.NobodyReads {
            return
        }
        guard let output, output != "-" else { return }
        try desk.say(report) { ["Wrote \(counted(report.drinks, "drink")) to \(output)."] }
    }
}

extension HealthFiles.Format: ExpressibleByArgument {}

struct Import: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read drinks from an export of ours or of Apple Health: all, or none.",
        discussion: "The format is recognised. What is known already adds nothing, so a file may be read twice.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "The file; - for standard input.", completion: .file()) var file: String

    func run(_ desk: Desk) throws {
        let input = try InputFile(file, sparing: desk.storeFiles)
        let report = try desk.tracker.importDrinks { feed in try input.read(feed) }
        try desk.say(report) {
            ["Added \(counted(report.added, "drink")), \(report.known) known already"
                + (report.empty > 0 ? ", \(report.empty) of 0 ml passed over." : "."), desk.standing(report.state)]
        }
    }
}

extension Desk {
    /// The files of the open store: nobody but SQLite may open them, or its locks are gone.
    var storeFiles: [String] { ["", "-wal", "-shm", "-journal"].map { store.path + $0 } }
}

struct Purge: WaitingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete everything: drinks, sessions, settings, tokens, health files. There is no way back.")
    @OptionGroup var options: StoreOptions
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run(_ desk: Desk) async throws {
        try Confirmation.ask("Delete everything in \(desk.store.path)?", isConfirmed: yes, console: desk.console)
        try desk.say(try await desk.tracker.purge()) { ["Everything is deleted. Start anew with: waterh-tracker setup"] }
    }
}
