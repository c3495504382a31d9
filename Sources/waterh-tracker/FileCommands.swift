import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Store
import TrackerCore
import TrackerService

struct Export: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Export drinks",
        discussion: """
            apple-health (XML) is for importer apps, csv for importer apps and spreadsheets, and json has every field. \
            Without --follow and --after, these three have the address, wall clock and bytes of a bottle's drink, so \
            that another store recognises the record.
            jsonl and influx (line protocol) have one line for each drink. With --follow, these and csv have one line \
            for each change, by any program: added, corrected (with the uuid of the original), changed or deleted \
            (0 ml in line protocol). A reader continues with --after and the last line's position.
            Everything else is in a backup: waterh-tracker backup FILE
            """)
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .reading }
    @Option(
        help: """
            Format (default: apple-health; with --json and without --output: json; with --follow or --after: jsonl)
            """
    ) var format: ExportFormat?
    @Option(name: .shortAndLong, help: "File to write (default: -, standard output)", completion: .file())
    var output: String?

    @Flag(help: "Print a line at each change, until stopped") var follow = false
    @Option(help: ArgumentHelp("Print only changes after this position", valueName: "position")) var after: Int64?

    func validate() throws {
        guard isStream else { return }
        if let format, format.lines == nil {
            throw ValidationError("invalid --format: --follow and --after print csv, jsonl or influx")
        }
        if options.json, format == .csv || format == .influx {
            throw ValidationError("--json prints JSON Lines: omit --format")
        }
        if output ?? "-" != "-" {
            throw ValidationError("lines go to standard output: omit --output and redirect with >>FILE")
        }
        if let after, after < 0 { throw ValidationError("invalid --after \(after): expected 0 or more") }
    }

    private var isStream: Bool { follow || after != nil || format == .jsonl || format == .influx }

    func run(_ context: CommandContext) async throws {
        guard isStream else { return try write(context) }
        guard try context.store.isDrinkPosition(after ?? 0) else {
            throw CommandFailure(
                .badInput,
                """
                invalid --after \(after ?? 0): this store's last change is \(try context.store.lastDrinkPosition())
                """,
                advice: "The store was replaced, purged or restored. Start again without --after.")
        }
        do {
            try await DrinkStream(options: options, location: context.location, format: format?.lines ?? .jsonl).run(
                after: after, isFollowing: follow)
        } catch is OutputFile.ReaderClosed {
            return
        }
    }

    private func write(_ context: CommandContext) throws {
        let format = format?.file
        // On standard output with --json, the drinks must be one object.
        let isAnswer = context.isJSON && output ?? "-" == "-"
        guard !isAnswer || format ?? .json == .json else {
            throw CommandFailure(
                .wrongUse, "--json prints one JSON object, which \(format?.rawValue ?? "this") is not.",
                advice: "Omit --json, or name a file with --output.")
        }
        let file = try OutputFile(
            output ?? "-", excluding: context.storeFiles + [options.config ?? Paths.configuration])
        let report: ExportReport
        do {
            if isAnswer { try file.write(Array(#"{"drinks": "#.utf8)) }
            report = try context.tracker.exportDrinks(format ?? (isAnswer ? .json : .appleHealth)) {
                try file.write($0)
            }
            if isAnswer { try file.write(Array("}\n".utf8)) }
            try file.commit()
        } catch is OutputFile.ReaderClosed {
            return
        }
        guard let output, output != "-" else { return }
        try context.printReport(report) { ["Wrote \(counted($0.drinks, "drink")) to \(output)."] }
    }
}

struct Import: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import drinks",
        discussion: """
            Exports of this program, Apple Health exports (export.zip or XML) and CSV files are recognised. A drink \
            that is known already, also from the bottle, is not added again. A newer Apple Health export replaces what \
            an older one brought; health.excludedSources names sources to leave out. All of the file is imported, or \
            nothing.
            """)
    @OptionGroup var options: StoreOptions
    @Argument(help: "File to read (- for standard input)", completion: .file()) var file: String

    func run(_ context: CommandContext) throws {
        let input = try InputFile(file, excluding: context.storeFiles)
        try context.printReport(context.tracker.importDrinks { feed in try input.read(feed) }) { report in
            [
                "Added \(counted(report.added, "drink")), \(report.known) known already"
                    + (report.empty > 0 ? ", \(report.empty) of 0 ml skipped." : ".")
            ] + (report.remarks ?? []) + [context.summary(report.state)]
        }
    }
}

extension CommandContext {
    /// The files of the open store. No other code must open them: closing a file releases SQLite's POSIX locks.
    var storeFiles: [String] { ["", "-wal", "-shm", "-journal"].map { path + $0 } }
}

struct Purge: StoreCommand {
    static let configuration = CommandConfiguration(commandName: "purge", abstract: "Delete all data")
    @OptionGroup var options: StoreOptions
    @Flag(name: .shortAndLong, help: "Do not ask for confirmation") var yes = false

    func run(_ context: CommandContext) async throws {
        try Confirmation.ask("Delete everything in \(context.path)?", isConfirmed: yes)
        let report = try await context.tracker.purge()
        TrackerDesktop.history(store: context.tracker.path).removeAll()
        let count = try context.tracker.staleTopicCount()
        try context.printReport(report) { _ in
            ["All data is deleted. Start again with: waterh-tracker setup"]
                + (count > 0
                    ? [
                        """
                        A broker keeps \(counted(count, "retained message")): the service deletes them when it reaches \
                        the broker.
                        """
                    ] : [])
        }
    }
}

/// The formats of `export`: whole files, and lines with one drink each.
enum ExportFormat: String, ExpressibleByArgument, CaseIterable {
    case appleHealth = "apple-health"
    case csv, json, jsonl, influx

    /// The file format; `nil` if the format has one drink per line.
    var file: HealthFiles.Format? { HealthFiles.Format(rawValue: rawValue) }
    /// The line format; `nil` if the format is a whole file.
    var lines: DrinkLineFormat? { DrinkLineFormat(rawValue: rawValue) }
}

extension ContentsReport {
    fileprivate var text: String {
        """
        \(counted(drinks, "drink")), \(counted(sessions, "session")), \(counted(presets, "preset")), \
        \(counted(settings, "setting"))
        """
    }
}

struct Backup: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Back up the store",
        discussion: """
            Drinks with their records, sessions, presets, settings and goals. Other programs may use the store. Access \
            tokens are not part of a backup.
            """)
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .reading }
    @Argument(help: "File to write (- for standard output)", completion: .file()) var file: String
    @Flag(help: "Include passwords and tokens of other services, for example mqtt.password") var secrets = false

    func run(_ context: CommandContext) throws {
        let output = try OutputFile(
            file, kind: .database, excluding: context.storeFiles + [options.config ?? Paths.configuration])
        let scratch = try ScratchFolder()
        let copy = scratch.file("backup.sqlite")
        try context.store.backUp(to: copy, secrets: secrets)
        do {
            try InputFile(copy).read { try output.write($0) }
            try output.commit()
        } catch is OutputFile.ReaderClosed {
            throw CommandFailure(.failed, "writing the backup failed: the reader closed standard output.")
        }
        guard file != "-" else { return }
        try context.printReport(context.tracker.contents()) { contents in
            ["Wrote \(contents.text) to \(file).", "Restore it with: waterh-tracker restore \(file)"]
        }
    }
}

struct Restore: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup",
        discussion: """
            All of it is restored, or nothing, while no service uses the store. A store with drinks is replaced only \
            with --yes or after confirmation; its old content is kept in a file next to it.
            """)
    @OptionGroup var options: StoreOptions
    @Argument(help: "Backup to read (- for standard input)", completion: .file()) var file: String
    @Flag(name: .shortAndLong, help: "Do not ask for confirmation") var yes = false

    func run(_ context: CommandContext) throws {
        guard !ServiceSocket(path: ServiceSocket.path(forStore: context.path)).isAnswering else {
            throw CommandFailure(
                .refused, "A service uses the store \(context.path). Nothing was changed.",
                advice: """
                    Stop the service, restore, and start it again: sudo systemctl stop waterh-gateway (a service of \
                    your own: systemctl --user stop waterh-gateway-user)
                    """)
        }
        let scratch = try ScratchFolder()
        let backup = file == "-" ? scratch.file("input.sqlite") : file
        let input = try InputFile(file, excluding: context.storeFiles)
        if file == "-" {
            let spool = try OutputFile(backup)
            try input.read { try spool.write($0) }
            try spool.commit()
        }
        let (contents, removed) = try context.tracker.restore(from: backup, scratch: scratch.path) {
            guard try context.store.hasRowsToReplace() else { return }
            try Confirmation.ask("Replace everything in \(context.path)?", isConfirmed: yes)
        }
        StoreLocation.report(removedSettings: removed)
        try context.printReport(contents) { contents in
            let hint =
                contents.replaced.map {
                    ["The old content is in \($0). Restore it with: waterh-tracker restore \($0)"]
                } ?? []
            let tokens = """
                Tokens are not part of a backup: this store keeps its own. Sign in with waterh-gateway open, or make \
                tokens with waterh-tracker token new.
                """
            return ["Restored \(contents.text)."] + hint + [tokens, context.summary(try context.tracker.state())]
        }
    }
}
