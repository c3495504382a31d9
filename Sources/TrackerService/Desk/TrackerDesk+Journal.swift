import Foundation
import Gateway
import Store
import TrackerCore

extension TrackerDesk {
    /// Records that are kept and not counted, and bytes that are no record: at most so many of each.
    package func journal(limit: Int = 100) throws -> JournalReport {
        let junk = try store.quarantineCounts()
        return JournalReport(
            records: try store.doubtfulRecords(limit: limit).map(RecordReport.init),
            junk: try store.quarantinedBytes().prefix(limit).map(JunkReport.init),
            doubts: try store.doubts().map { JournalReport.Doubt(reason: $0.reason, count: $0.count) },
            junkReceived: junk.received, junkNotKept: junk.evicted)
    }

    /// One record with its bytes: `r12`.
    package func record(_ name: String) throws -> RecordReport {
        let digits = name.first == "r" ? name.dropFirst() : Substring(name)
        guard let id = Int64(digits) else {
            throw WrongInput("notARecord", "\"\(name)\" names no record.", values: ["given": name])
        }
        guard let record = try store.journalRecord(id) else {
            throw Refusal("noSuchRecord", "There is no record r\(id).", category: .notFound, values: ["given": name])
        }
        return RecordReport(record)
    }

    /// Reads and dates them again, by the settings and the clock of now. What was counted before keeps its date; a
    /// record read in another dialect changes its own row.
    package func resolveJournal() throws -> ResolveOutcome {
        try change {
            if let newest = try store.newestReceipt(), now.seconds(to: newest) > RecordResolver.aheadSeconds {
                throw Refusal(
                    "clock",
                    """
                    This computer's clock says \(now), but the store has received something at \(newest): nothing \
                    is dated by it.
                    """
                )
            }
            let options = PollOptions(settings: try store.settings().bottle, zone: zone)
            let done = try secondLook(options)
            let resolved = done.count { $0.outcome == .promoted }
            return ResolveOutcome(
                resolved: resolved, changed: done.count - resolved,
                waiting: try store.doubts().reduce(0) { $0 + $1.count }, state: try state())
        }
    }

    /// Dates a record by hand: it counts from then on.
    package func dateRecord(_ name: String, at instant: Instant) throws -> DrinkOutcome {
        try change {
            let drink = try store.dateRecord(try record(name).record.id, at: instant, context)
            return DrinkOutcome(drink: report(drink), state: try state())
        }
    }
}

/// The journal, line by line, on its way to another store.
extension TrackerDesk {
    /// A line may be so long, in bytes: an entry has a few hundred.
    static let wireLineLimit = 4096
    /// A file may have so many entries: they are taken in one transaction. A bottle a person drinks from writes some
    /// 10,000 a year.
    static let wireLimit = 500_000

    /// Writes the journal as lines of JSON, an entry in its wire form each, in the order in which they came.
    package func exportJournal(to write: ([UInt8]) throws -> Void) throws -> JournalExportReport {
        // Without an owner nothing was ever written here; then there is nothing to say, and nobody to say it.
        let gateway = try store.profile()?.deviceID ?? "unknown"
        var (bytes, count) = ([UInt8](), 0)
        try store.forEachWireEntry(gateway: gateway) { entry in
            bytes += try Self.json(entry).utf8
            bytes.append(UInt8(ascii: "\n"))
            count += 1
            guard bytes.count >= 1 << 16 else { return }
            try write(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        try write(bytes)
        return JournalExportReport(entries: count)
    }

    /// Takes lines of another store's journal in. What is known already adds nothing and changes nothing, so a file may
    /// be read twice. Everything is read before anything is taken: a file that is cut or broken changes nothing.
    /// - Parameter read: hands the file's bytes over, in as many pieces as it likes.
    /// - Throws: `WrongInput` with the line's number, and what `read` throws.
    package func importJournal(_ read: (_ feed: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
        -> JournalImportReport
    {
        try change {
            var lines = WireLines(now: now)
            var entries: [WireEntry] = []
            func keep(_ entry: WireEntry) throws {
                guard entries.count < Self.wireLimit else {
                    throw WrongInput(
                        "tooManyEntries", "The file has more than \(Self.wireLimit) entries. Nothing was taken.")
                }
                entries.append(entry)
            }
            try read { piece in try lines.feed(piece, keep) }
            try lines.finish(keep)
            let outcome = try store.take(entries)
            return JournalImportReport(added: outcome.added, known: outcome.known, state: try state())
        }
    }
}

/// Bytes to lines to entries.
private struct WireLines {
    let now: Instant
    private var line: [UInt8] = []
    private var number = 1

    init(now: Instant) { self.now = now }

    mutating func feed(_ piece: UnsafeRawBufferPointer, _ take: (WireEntry) throws -> Void) throws {
        for byte in piece {
            if byte == UInt8(ascii: "\n") {
                try end(take)
                number += 1
            } else {
                guard line.count < TrackerDesk.wireLineLimit else {
                    throw refusal("it is longer than \(TrackerDesk.wireLineLimit) bytes")
                }
                line.append(byte)
            }
        }
    }

    mutating func finish(_ take: (WireEntry) throws -> Void) throws { try end(take) }

    private mutating func end(_ take: (WireEntry) throws -> Void) throws {
        defer { line.removeAll(keepingCapacity: true) }
        guard line.contains(where: { $0 > 32 }) else { return }
        let entry: WireEntry
        do {
            entry = try JSONDecoder().decode(WireEntry.self, from: Data(line))
        } catch let error as WireEntry.Malformed {
            throw refusal(error.description)
        } catch DecodingError.keyNotFound(let key, _) {
            throw refusal("\"\(key.stringValue)\" is missing")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw refusal("\"\(context.codingPath.last?.stringValue ?? "it")\" is of another kind")
        } catch {
            throw refusal("it is no JSON object")
        }
        if let contradiction = entry.contradiction(now: now) { throw refusal(contradiction) }
        try take(entry)
    }

    private func refusal(_ why: String) -> WrongInput {
        WrongInput(
            "notAnEntry", "Line \(number) is no entry of a journal: \(why). Nothing was taken.",
            values: ["line": "\(number)"])
    }
}

/// How much went out.
package struct JournalExportReport: Hashable, Sendable, Encodable {
    /// Entries that went out.
    package let entries: Int
}

/// What came in, and the day's new state.
package struct JournalImportReport: Hashable, Sendable, Encodable {
    /// Entries that are new here.
    package let added: Int
    /// Entries that were here already.
    package let known: Int
    /// How the day stands now.
    package let state: TrackerSnapshot
}

extension TrackerDesk {
    /// What a poll is to do, by the settings of the store.
    package func pollOptions() throws -> PollOptions {
        let settings = try store.settings()
        var options = PollOptions(settings: settings.bottle, zone: zone, goalMl: settings.goalMl)
        options.own = try ownBottles()
        return options
    }

    /// All bottles that the store knows, in the order in which they were first seen.
    package func bottles() throws -> [BottleReport] { try store.bottles().map(BottleReport.init) }

    /// The bottles of the store, as a poll tells them.
    package func ownBottles() throws -> [OwnBottle] { try Self.ownBottles(of: store) }

    /// The same where no moment matters.
    package static func ownBottles(of store: TrackerStore) throws -> [OwnBottle] {
        try store.bottles().filter(\.isOwn).map {
            OwnBottle(
                identities: Set($0.identities), aliases: Set($0.names).subtracting($0.identities),
                alias: $0.identities.contains($0.name) ? nil : $0.name, advertisedName: $0.advertisedName,
                settings: try store.ownSettings(ofBottle: $0.name), since: $0.firstRecordMilliseconds)
        }
    }

    /// This bottle belongs to the store from now on.
    /// - Parameter other: it is this bottle of the store under a new address.
    /// - Returns: whether that is new.
    package func adoptBottle(_ identity: String, as other: String? = nil) throws -> Bool {
        try change { try store.adoptBottle(identity, as: other) }
    }

    /// This bottle does not belong to the store any more. What it delivered stays.
    /// - Returns: whether it did.
    package func releaseBottle(_ name: String) throws -> Bool { try change { try store.releaseBottle(name) } }

    /// How often a bottle is to be polled, as the day asks for it.
    package func pollRhythm() throws -> PollRhythm { PollPlan.rhythm(try store.facts(context), now: now) }

    /// What follows a poll, as it follows a command: the state says how it went, the day is evaluated, files are
    /// written.
    /// - Parameter isLive: how a recording answers, or a name that nobody bears, says nothing of the way to the bottle.
    package func afterPoll(_ report: PollReport, isLive: Bool = true) {
        do {
            if isLive, let connection = report.connection { try store.noteConnection(connection, at: now) }
        } catch {
            remark("How the poll went could not be noted: \(error)")
        }
        store.afterCommit(context).forEach(remark)
    }

    /// Looks again at the records of every bottle, each by its own settings.
    func secondLook(_ options: PollOptions) throws -> [(entry: JournalEntry, outcome: JournalOutcome)] {
        try store.bottles().flatMap { bottle in
            let own = OwnBottle(identities: [], settings: try store.ownSettings(ofBottle: bottle.name))
            return try SecondLook.run(store, bottles: [bottle.name], options: options.following(own), now: now)
        }
    }

    /// Looks again at what is stored without a date, where no bottle answered whose session would have done so.
    /// - Returns: how many records have a date now.
    package func lookAgain(_ options: PollOptions) throws -> Int {
        try change {
            try secondLook(options).count { $0.outcome == .promoted }
        }
    }
}

extension TrackerDesk {
    /// Polls that went wrong and are kept, newest first. They are no drinks: bytes that passed, and the names of
    /// bottles, a stranger's perhaps.
    package func keptPolls() -> [KeptPollReport] { KeptPolls.all(beside: store.path).map(KeptPollReport.init) }

    /// The capture of one of them, btsnoop.
    /// - Throws: `Refusal` (`noSuchPoll`) where none of that name is kept.
    package func capture(ofKeptPoll id: String) throws -> Data {
        guard let capture = KeptPolls.capture(id, beside: store.path) else {
            throw Refusal(
                "noSuchPoll", "No poll of that name is kept: a new one takes the place of the oldest.",
                category: .notFound, values: ["given": id])
        }
        return capture
    }
}

extension TrackerDesk {
    /// What the light of this bottle is to be told; `nil` where it shows it already, and where the bottle is not the
    /// store's own.
    package func light(ofBottle bottle: String) throws -> BottleLight? {
        // One that a person has let go a moment ago is told nothing.
        guard try store.isOwn(bottle) else { return nil }
        return try changedLight(of: bottle, try store.look(context))
    }

    /// The bottle was told.
    package func noteLight(_ light: BottleLight, ofBottle bottle: String) throws {
        try store.noteLight(light, ofBottle: bottle)
    }

    /// The store's own bottles whose light is not as it is to be, and worth a poll for that alone: in quiet hours it
    /// waits for the next one.
    package func lightsDue() throws -> [String: BottleLight] {
        let evaluation = try store.look(context)
        guard !evaluation.snapshot.isQuiet else { return [:] }
        return try store.bottles().filter(\.isOwn).reduce(into: [:]) {
            $0[$1.name] = try changedLight(of: $1.name, evaluation)
        }
    }

    private func changedLight(of bottle: String, _ evaluation: Evaluation) throws -> BottleLight? {
        let settings = try store.ownSettings(ofBottle: bottle) ?? store.settings().bottle
        let wanted = evaluation.light(by: settings)
        return try wanted == store.light(ofBottle: bottle) ? nil : wanted
    }
}
