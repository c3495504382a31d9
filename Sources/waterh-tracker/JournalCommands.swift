import ArgumentParser
import CommandKit
import Gateway
import Store
import TrackerCore

struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "What the bottle delivered and nobody counts: records without a believable date, and bytes that are no record.",
        subcommands: [List.self, Show.self, Resolve.self, Set.self], defaultSubcommand: List.self)

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Records that are kept and not counted, and undecodable bytes.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Option(help: "At most so many of each.") var limit = 100

        private struct Report: Encodable {
            var records: [RecordReport]
            var junk: [JunkReport]
            var counts: [String: Int]
        }

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit is 1 or more.") }
        }

        func run(_ desk: Desk) throws {
            let records = try desk.store.doubtfulRecords(limit: limit)
            let junk = try Array(desk.store.quarantinedBytes().prefix(limit))
            let doubts = try desk.store.doubts()
            let waiting = doubts.reduce(0) { $0 + $1.count }
            let junkCounts = try desk.store.quarantineCounts()
            let report = Report(
                records: records.map(RecordReport.init), junk: junk.map(JunkReport.init),
                counts: ["records": waiting, "junkReceived": junkCounts.received, "junkNotKept": junkCounts.evicted])
            try desk.say(report) {
                if waiting == 0, junk.isEmpty { return ["Everything that came from the bottle is dated and counted."] }
                var lines: [String] = []
                if waiting > 0 {
                    lines.append("\(counted(waiting, "record")) kept and not counted: " + doubts.map { "\($0.count) \(Doubts.short($0.reason))" }.joined(separator: ", "))
                    lines += records.map { desk.line($0) }
                    if waiting > records.count { lines.append("  and \(waiting - records.count) more (--limit)") }
                    lines.append("Try them again with: waterh-tracker journal resolve    Date one by hand: waterh-tracker journal set r\(records.first?.id ?? 1) --at 2026-06-15T14:00")
                }
                if !junk.isEmpty {
                    lines.append("\(junkCounts.received) received piece\(junkCounts.received == 1 ? "" : "s") of bytes that are no record, \(junkCounts.evicted) of them no longer kept:")
                    lines += junk.map { "  \(desk.dateTime($0.received))  \(Doubts.hex(Array($0.bytes.prefix(32))))\($0.length > 32 ? " …" : "")  \($0.reason)" }
                }
                return lines
            }
        }
    }

    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "One record with its bytes, and what was made of them.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Argument(help: "r12. See: journal list.") var id: String

        func run(_ desk: Desk) throws {
            let record = try desk.record(id)
            try desk.say(RecordReport(record)) {
                [
                    "r\(record.id) of \(record.bottle), received \(desk.dateTime(record.received))",
                    "  bytes    \(Doubts.hex(record.raw))",
                    "  read as  \(record.wall ?? "no date"), \(Amounts.millilitres(record.amountMl))\(record.reading.map { " (\($0))" } ?? "")",
                    "  stands   \(record.verdict)\(record.reason.map { ": \(Doubts.long($0))" } ?? "")",
                ] + (record.about.map { ["  was      probably about \(desk.dateTime($0))"] } ?? [])
            }
        }
    }

    struct Resolve: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read and date them again, by the settings and the clock of now.",
            discussion: "Every poll does so by itself. What was counted before keeps its date; a record read in another dialect changes its own row.")
        @OptionGroup var options: StoreOptions

        private struct Report: Encodable {
            var resolved: Int
            var changed: Int
            var waiting: Int
            var state: TrackerSnapshot
        }

        func run(_ desk: Desk) throws {
            if let newest = try desk.store.newestReceipt(), desk.now.seconds(to: newest) > RecordResolver.aheadSeconds {
                throw Refusal("clock", "This computer's clock says \(desk.now), but the store has received something at \(newest): nothing is dated by it. Look at the date (timedatectl), or pass --now.")
            }
            let settings = try desk.store.settings()
            let bottles = try desk.store.bottles().map(\.name)
            let done = try SecondLook.run(desk.store, bottles: bottles, options: PollOptions(settings: settings, zone: desk.zone), now: desk.now)
            let resolved = done.filter { $0.outcome == .promoted }
            let waiting = try desk.store.doubts().reduce(0) { $0 + $1.count }
            let report = Report(resolved: resolved.count, changed: done.count - resolved.count, waiting: waiting, state: try desk.state())
            try desk.say(report) {
                ["\(counted(resolved.count, "record")) got a date and \(resolved.count == 1 ? "counts" : "count") now; \(waiting) \(waiting == 1 ? "waits" : "wait") still.", desk.standing(report.state)]
            }
        }
    }

    struct Set: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Date a record by hand: it counts from then on.")
        @OptionGroup var options: StoreOptions
        @Argument(help: "r12. See: journal list.") var id: String
        @Option(help: "When it was drunk: 14:00, 2026-06-15T14:00, or with an offset.") var at: String

        private struct Report: Encodable {
            var drink: DrinkReport
            var state: TrackerSnapshot
        }

        func run(_ desk: Desk) throws {
            let record = try desk.record(id)
            let drink = try desk.store.dateRecord(record.id, at: Moment.parse(at, now: desk.now, zone: desk.zone), desk.context)
            let state = try desk.state()
            try desk.say(Report(drink: DrinkReport(drink), state: state)) {
                ["r\(record.id) counts as \(Amounts.millilitres(drink.ml)) at \(desk.dateTime(drink.at)), d\(drink.number).", desk.standing(state)]
            }
        }
    }
}

extension Desk {
    fileprivate func record(_ name: String) throws -> JournalRow {
        let digits = name.first == "r" ? name.dropFirst() : Substring(name)
        guard let id = Int64(digits) else { throw CommandFailure(.wrongUse, "\"\(name)\" names no record.", advice: "Write r12; see: waterh-tracker journal list") }
        guard let record = try store.journalRecord(id) else {
            throw Refusal("noSuchRecord", "There is no record r\(id). See them with: waterh-tracker journal list")
        }
        return record
    }

    fileprivate func line(_ record: JournalRow) -> String {
        let about = record.about.map { ", probably about \(dateTime($0))" } ?? ""
        return "  r\(record.id)  \(record.wall?.replacing("T", with: " ") ?? "no date            ")  \("\(record.amountMl) ml".aligned(8))  \(Doubts.hex(record.raw))  \(Doubts.short(record.reason ?? "unknown"))\(about)"
    }
}

/// The reasons for which records are not counted, in words.
enum Doubts {
    static func short(_ reason: String) -> String {
        switch reason {
        case JournalDoubt.refused: "refused by the dialect"
        case JournalDoubt.hostClock: "received while this computer's clock was wrong"
        case JournalDoubt.bottleClock: "written while the bottle's clock was wrong"
        case JournalDoubt.pieced: "received once, in pieces that may be of two records"
        case RecordResolver.Doubt.impossibleDate.rawValue: "without a possible date"
        case RecordResolver.Doubt.implausibleYear.rawValue: "of an impossible year"
        case RecordResolver.Doubt.implausibleTimestamp.rawValue: "too old or too far ahead"
        default: reason
        }
    }

    static func long(_ reason: String) -> String {
        switch reason {
        case JournalDoubt.refused: "\(short(reason)); with another bottle.recordDialect it is read again"
        case JournalDoubt.hostClock, RecordResolver.Doubt.implausibleTimestamp.rawValue: "\(short(reason)); it is tried again at each poll"
        case JournalDoubt.pieced: "\(short(reason)); it counts when the bottle sends it again alike"
        case JournalDoubt.bottleClock: "\(short(reason)), so its date is not believed: waterh-tracker journal set dates it"
        case "byHand": "dated by hand"
        default: short(reason)
        }
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
