import ArgumentParser
import CommandSupport
import Store
import TrackerCore
import TrackerService

struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Inspect raw bottle records",
        subcommands: [List.self, Show.self, Resolve.self, Set.self, Export.self, Import.self],
        defaultSubcommand: List.self)

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List quarantined records and undecodable bytes")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }
        @Option(help: "Number of records, and of undecodable pieces (1 or more)") var limit = 100

        func validate() throws {
            guard limit > 0 else { throw ValidationError("invalid --limit \(limit): expected 1 or more") }
        }

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.journal(limit: limit)) { report in
                let (records, undecodable, waiting) = (report.records, report.undecodable, report.waiting)
                if waiting == 0, undecodable.isEmpty { return ["All records from the bottle are dated and counted."] }
                var lines: [String] = []
                if waiting > 0 {
                    lines.append(
                        """
                        \(counted(waiting, "record")) kept and not counted: \
                        \(Quarantine.list(report.quarantineReasons))
                        """)
                    lines += records.map { context.line($0) }
                    if waiting > records.count { lines.append("  and \(waiting - records.count) more (--limit)") }
                    lines.append(
                        """
                        Try them again with: waterh-tracker journal resolve    Date one by hand: waterh-tracker \
                        journal set r\(records.first?.id ?? 1) --at 2026-06-15T14:00
                        """)
                }
                if !undecodable.isEmpty {
                    lines.append(
                        """
                        \(counted(report.undecodableReceived, "received piece")) of bytes that are not records, \
                        \(report.undecodableDeleted) of them no longer kept:
                        """)
                    lines += undecodable.map {
                        """
                          \(context.dateTime($0.received))  \
                        \(Quarantine.hex(Array($0.bytes.prefix(32))))\($0.length > 32 ? " …" : "")  \($0.reason)
                        """
                    }
                }
                return lines
            }
        }
    }

    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Show a record")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }
        @Argument(help: "Number of the record (r12), as journal list prints it") var id: String

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.record(id)) { record in
                [
                    "r\(record.id) of \(record.bottle), received \(context.dateTime(record.received))",
                    "  bytes    \(Quarantine.hex(record.raw))",
                    """
                      read as  \(record.wall ?? "no date"), \
                    \(context.amount(record.amountMl))\(record.reading.map { " (\($0))" } ?? "")
                    """,
                    "  verdict  \(record.verdict)\(record.reason.map { ": \(Quarantine.long($0))" } ?? "")",
                ] + (record.about.map { ["  was      probably about \(context.dateTime($0))"] } ?? [])
            }
        }
    }

    struct Export: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Export all records as JSON Lines",
            discussion: "Import it into the other store with: waterh-tracker journal import FILE")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }
        @Option(name: .shortAndLong, help: "File to write (default: -, standard output)", completion: .file())
        var output: String?

        func run(_ context: CommandContext) throws {
            let file = try OutputFile(
                output ?? "-", excluding: context.storeFiles + [options.config ?? Paths.configuration])
            let report: JournalExportReport
            do {
                report = try context.tracker.exportJournal { try file.write($0) }
                try file.commit()
            } catch is OutputFile.ReaderClosed {
                return
            }
            guard let output, output != "-" else { return }
            try context.printReport(report) { report in
                ["Wrote \(report.entries) \(report.entries == 1 ? "entry" : "entries") to \(output)."]
            }
        }
    }

    struct Import: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Import another store's records",
            discussion: "All of the file is imported, or nothing. Known records are skipped.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "File to read (- for standard input)", completion: .file()) var file: String

        func run(_ context: CommandContext) throws {
            let input = try InputFile(file, excluding: context.storeFiles)
            let report: JournalImportReport
            do {
                report = try context.tracker.importJournal { feed in try input.read(feed) }
            } catch let error as WrongInput {
                throw CommandFailure(
                    .badInput, error.sentence,
                    advice: "Export it again from the other store: waterh-tracker journal export")
            }
            try context.printReport(report) { report in
                [
                    "Added \(report.added) \(report.added == 1 ? "entry" : "entries"), \(report.known) known already.",
                    context.summary(report.state),
                ]
            }
        }
    }

    struct Resolve: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "resolve", abstract: "Date quarantined records again",
            discussion: "Every poll does so automatically. A record that counts keeps its date.")
        @OptionGroup var options: StoreOptions

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.resolveJournal()) { outcome in
                let (resolved, waiting) = (outcome.resolved, outcome.waiting)
                return [
                    """
                    \(counted(resolved, "record")) got a date and \(resolved == 1 ? "counts" : "count") now; \
                    \(waiting) still \(waiting == 1 ? "has" : "have") none.
                    """,
                    context.summary(outcome.state),
                ]
            }
        }
    }

    struct Set: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "set", abstract: "Date a record by hand")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Number of the record (r12), as journal list prints it") var id: String
        @Option(help: "Time of the drink: 14:00, 2026-06-15T14:00, or with an offset") var at: String

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.dateRecord(id, at: context.tracker.moment(at))) { outcome in
                let drink = outcome.drink
                let name = id.first == "r" ? id : "r\(id)"
                return [
                    "\(name) counts as \(context.amount(drink.ml)) at \(context.dateTime(drink)), d\(drink.number).",
                    context.summary(outcome.state),
                ]
            }
        }
    }
}

extension CommandContext {
    fileprivate func line(_ record: JournalRow) -> String {
        let about = record.about.map { ", probably about \(dateTime($0))" } ?? ""
        return """
              r\(record.id)  \(record.wall?.replacing("T", with: " ") ?? "no date            ")  \
            \(amount(record.amountMl).aligned(8))  \(Quarantine.hex(record.raw))  \
            \(Quarantine.short(record.reason ?? "unknown"))\(about)
            """
    }
}

enum Quarantine {
    static func list(_ counts: [QuarantineCount]) -> String {
        counts.map { "\($0.count) \(short($0.reason))" }.joined(separator: ", ")
    }

    static func short(_ reason: String) -> String {
        switch reason {
        case JournalQuarantine.rejectedByDialect: "rejected by the dialect"
        case JournalQuarantine.hostClock: "received while this computer's clock was wrong"
        case JournalQuarantine.bottleClock: "written while the bottle's clock was wrong"
        case JournalQuarantine.fragmented: "received in pieces that might be of two records"
        case RecordResolver.QuarantineReason.impossibleDate.rawValue: "with an impossible date"
        case RecordResolver.QuarantineReason.implausibleYear.rawValue: "with an impossible year"
        case RecordResolver.QuarantineReason.implausibleTimestamp.rawValue: "too old or too far ahead"
        default: reason
        }
    }

    static func long(_ reason: String) -> String {
        switch reason {
        case JournalQuarantine.rejectedByDialect: "\(short(reason)); it is read again with another bottle.recordDialect"
        case JournalQuarantine.hostClock, RecordResolver.QuarantineReason.implausibleTimestamp.rawValue:
            "\(short(reason)); it is retried at each poll"
        case JournalQuarantine.fragmented: "\(short(reason)); it counts when another complete reading of the log has it"
        case JournalQuarantine.bottleClock:
            "\(short(reason)), so its date is not used. Set it with: waterh-tracker journal set"
        case "byHand": "dated by hand"
        default: short(reason)
        }
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
