import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

struct Export: WaitingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all drinks to a file, or as a stream of lines.",
        discussion: """
            apple-health is XML for importer apps (Apple Health itself reads no files); csv suits those and \
            spreadsheets; json keeps all that a
            drink has. With --json and without --output the answer is one object: the drinks, as json has them. \
            Everything else that a store has is in a backup: waterh-tracker backup FILE
            jsonl and influx (InfluxDB's line protocol) are lines for programs, one for each drink; --follow goes on \
            with one for each change, also of what other programs write, and csv is such lines, too. \
            A line's position is where a reader goes on: --after POSITION; one of another store, or of before a purge, \
            is refused. A change is added, corrected (a person's, with the original's uuid; that one is told as \
            deleted), changed, or deleted; \
            in line protocol what is deleted has 0 ml.
            """)
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(
        help:
            """
            apple-health, csv, json, jsonl or influx. Default: apple-health; with --json and without --output: \
            json; with --follow or --after: jsonl.
            """
    ) var format: ExportFormat?
    @Option(name: .shortAndLong, help: "The file to write; - or nothing for standard output.", completion: .file())
    var output: String?

    @Flag(help: "Go on with a line for each change, until it is stopped or nobody reads.") var follow = false
    @Option(help: ArgumentHelp("Only what changed behind this position.", valueName: "position")) var after: Int64?

    func validate() throws {
        guard isStream else { return }
        if let format, format.lines == nil {
            throw ValidationError("--follow and --after are for lines: choose csv, jsonl or influx.")
        }
        if options.json, format == .csv || format == .influx {
            throw ValidationError("With --json the lines are JSON: leave --format out.")
        }
        if output ?? "-" != "-" {
            throw ValidationError(
                "Lines go to standard output: leave --output out, and write >>FILE behind the command.")
        }
        if let after, after < 0 { throw ValidationError("A position is a number from 0.") }
    }

    private var isStream: Bool { follow || after != nil || format == .jsonl || format == .influx }

    func run(_ desk: Desk) async throws {
        guard isStream else { return try write(desk) }
        guard try desk.tracker.isChange(after ?? 0) else {
            throw CommandFailure(
                .badInput,
                """
                The position \(after ?? 0) is none of this store's: its last change has \
                \(try desk.tracker.lastChange()).
                """,
                advice:
                    """
                    It is another store than before, or it was purged or restored since: begin anew without \
                    --after, and all drinks are told.
                    """
            )
        }
        do {
            try await DrinkStream(options: options, place: desk.place, format: format?.lines ?? .jsonl).run(
                after: after, isFollowing: follow)
        } catch is OutputFile.NobodyReads {
            return
        }
    }

    private func write(_ desk: Desk) throws {
        let format = format?.file
        // On standard output the drinks are the answer, and with --json that is one object.
        let isAnswer = desk.isJSON && output ?? "-" == "-"
        guard !isAnswer || format ?? .json == .json else {
            throw CommandFailure(
                .wrongUse, "With --json the answer is one JSON object, and \(format?.rawValue ?? "this") is none.",
                advice: "Leave --json out, or name a file with --output.")
        }
        let file = try OutputFile(output ?? "-", sparing: desk.storeFiles + [options.config ?? Paths.configuration])
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

struct Import: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Read drinks from an export of ours or of Apple Health: all, or none.",
        discussion: "The format is recognised. What is known already adds nothing, so a file may be read twice.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "The file; - for standard input.", completion: .file()) var file: String

    func run(_ desk: Desk) throws {
        let input = try InputFile(file, sparing: desk.storeFiles)
        let report = try desk.tracker.importDrinks { feed in try input.read(feed) }
        try desk.say(report) {
            [
                "Added \(counted(report.added, "drink")), \(report.known) known already"
                    + (report.empty > 0 ? ", \(report.empty) of 0 ml passed over." : ".")
            ] + (report.remarks ?? []) + [desk.standing(report.state)]
        }
    }
}

extension Desk {
    /// The files of the open store: nobody but SQLite may open them, or its locks are gone.
    var storeFiles: [String] { ["", "-wal", "-shm", "-journal"].map { path + $0 } }
}

struct Purge: WaitingCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Delete everything: drinks, sessions, settings, tokens, health files. There is no way back.")
    @OptionGroup var options: StoreOptions
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run(_ desk: Desk) async throws {
        try Confirmation.ask("Delete everything in \(desk.path)?", isConfirmed: yes, console: desk.console)
        let report = try await desk.tracker.purge()
        TrackerDesktop.memory(store: desk.tracker.path).forgetAll()
        let left = try desk.tracker.leftBehind()
        try desk.say(report) {
            ["Everything is deleted. Start anew with: waterh-tracker setup"]
                + (left > 0
                    ? [
                        """
                        A broker keeps \(counted(left, "retained message")) of it: the service takes back what is \
                        there as soon as it reaches that broker.
                        """
                    ] : [])
        }
    }
}
