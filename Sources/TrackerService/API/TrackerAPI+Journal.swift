package import Foundation
package import Gateway
package import Store
package import TrackerCore

extension TrackerAPI {
    /// The quarantined records, and the received bytes that are not records, at most `limit` of each.
    package func journal(limit: Int = 100) throws -> JournalReport {
        let counts = try store.quarantineCounts()
        return JournalReport(
            records: try store.quarantinedRecords(limit: limit),
            undecodable: Array(try store.quarantinedBytes().prefix(limit)),
            quarantineReasons: try store.quarantineReasons(), undecodableReceived: counts.received,
            undecodableDeleted: counts.evicted)
    }

    /// Returns a record of a bottle with its bytes.
    /// - Parameter name: the name of a record, such as `r12`.
    package func record(_ name: String) throws -> JournalRow {
        let digits = name.first == "r" ? name.dropFirst() : Substring(name)
        guard let id = Int64(digits) else {
            throw WrongInput("notARecord", "Not a valid record: \"\(name)\" (expected r12).", values: ["given": name])
        }
        guard let record = try store.journalRecord(id) else {
            throw Refusal("noSuchRecord", "There is no record r\(id).", category: .notFound, values: ["given": name])
        }
        return record
    }

    /// Determines the dates of quarantined records again with the current settings and clock. Counted records keep
    /// their date. A record that another dialect can read updates its row.
    package func resolveJournal() throws -> ResolveOutcome {
        try change {
            if let newest = try store.newestReceipt(), now.seconds(to: newest) > RecordResolver.maxLeadSeconds {
                throw Refusal(
                    "clock",
                    """
                    This computer's clock says \(now), but the store has data of \(newest). Nothing was dated by \
                    this clock.
                    """
                )
            }
            let options = PollOptions(settings: try store.settings().bottle, zone: zone)
            let done = try resolveQuarantine(options)
            let resolved = done.count { $0.outcome == .promoted }
            return ResolveOutcome(
                resolved: resolved, changed: done.count - resolved,
                waiting: try store.quarantineReasons().reduce(0) { $0 + $1.count }, state: try state())
        }
    }

    /// Sets the date of a record manually. The record then counts.
    package func dateRecord(_ name: String, at instant: Instant) throws -> DrinkOutcome {
        try change {
            let drink = try store.dateRecord(try record(name).id, at: instant, context)
            return DrinkOutcome(drink: report(drink), state: try state())
        }
    }

    /// The maximum length of a journal line in bytes. A valid entry has a few hundred.
    static let wireLineLimit = 4096
    /// The maximum number of entries in a journal file. A bottle adds about 10,000 per year.
    static let wireLimit = 500_000

    /// Writes the journal as JSON Lines, one `WireEntry` per line, in the order of receipt.
    package func exportJournal(to write: ([UInt8]) throws -> Void) throws -> JournalExportReport {
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

    /// Imports entries of another store's journal: all, or none. Known entries change nothing.
    /// - Parameter read: passes the file's bytes to `feed`, in parts of any length.
    /// - Throws: `WrongInput` with the line number, and the errors of `read`.
    package func importJournal(_ read: (_ feed: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws
        -> JournalImportReport
    {
        try change {
            var lines = WireLines(now: now)
            var entries: [WireEntry] = []
            func append(_ entry: WireEntry) throws {
                guard entries.count < Self.wireLimit else {
                    throw WrongInput(
                        "tooManyEntries", "The file has more than \(Self.wireLimit) entries. Nothing was imported.")
                }
                entries.append(entry)
            }
            try read { piece in try lines.feed(piece, append) }
            try lines.finish(append)
            let added = try store.importEntries(entries)
            return JournalImportReport(added: added, known: entries.count - added, state: try state())
        }
    }
}

/// Splits a journal file into lines and decodes each of them.
private struct WireLines {
    let now: Instant
    private var line: [UInt8] = []
    private var number = 1

    init(now: Instant) { self.now = now }

    mutating func feed(_ piece: UnsafeRawBufferPointer, _ receive: (WireEntry) throws -> Void) throws {
        for byte in piece {
            if byte == UInt8(ascii: "\n") {
                try end(receive)
                number += 1
            } else {
                guard line.count < TrackerAPI.wireLineLimit else {
                    throw refusal("it is longer than \(TrackerAPI.wireLineLimit) bytes")
                }
                line.append(byte)
            }
        }
    }

    mutating func finish(_ receive: (WireEntry) throws -> Void) throws { try end(receive) }

    private mutating func end(_ receive: (WireEntry) throws -> Void) throws {
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
            throw refusal("\"\(context.codingPath.last?.stringValue ?? "it")\" has the wrong type")
        } catch {
            throw refusal("not a JSON object")
        }
        if let contradiction = entry.contradiction(now: now) { throw refusal(contradiction) }
        try receive(entry)
    }

    private func refusal(_ reason: String) -> WrongInput {
        WrongInput(
            "notAnEntry", "Line \(number) is not a valid journal entry: \(reason). Nothing was imported.",
            values: ["line": "\(number)"])
    }
}

package struct JournalExportReport: Hashable, Sendable, Encodable {
    package let entries: Int
}

package struct JournalImportReport: Hashable, Sendable, Encodable {
    package let added: Int
    package let known: Int
    package let state: TrackerSnapshot
}

extension TrackerAPI {
    package func pollOptions() throws -> PollOptions {
        let settings = try store.settings()
        var options = PollOptions(settings: settings.bottle, zone: zone, goalMl: settings.goalMl)
        options.ownBottles = try adoptedBottles()
        return options
    }

    package func adoptedBottles() throws -> [AdoptedBottle] { try Self.adoptedBottles(of: store) }

    /// The store's own bottles, in the form that a poll uses.
    package static func adoptedBottles(of store: TrackerStore) throws -> [AdoptedBottle] {
        try store.bottles().filter(\.isOwn).map {
            AdoptedBottle(
                identities: Set($0.identities), aliases: Set($0.names).subtracting($0.identities),
                alias: $0.identities.contains($0.name) ? nil : $0.name, advertisedName: $0.advertisedName,
                settings: try store.ownSettings(ofBottle: $0.name))
        }
    }

    /// Adds a bottle to the store's own.
    /// - Parameter other: the store's bottle that has this new address.
    /// - Returns: whether the bottle was added.
    package func adoptBottle(_ identity: String, as other: String? = nil) throws -> Bool {
        try change { try store.adoptBottle(identity, as: other) }
    }

    /// Removes a bottle from the store's own. Its drinks stay.
    /// - Returns: whether the store owned the bottle.
    package func releaseBottle(_ name: String) throws -> Bool { try change { try store.releaseBottle(name) } }

    package func pollSchedule() throws -> PollSchedule { PollSchedule(try store.facts(context), now: now) }

    /// Records the result of a poll, and runs the tasks after a commit.
    /// - Parameter isLive: `false` if the poll had no real connection, for example to a recording.
    package func afterPoll(_ report: PollReport, isLive: Bool = true) {
        do {
            if isLive, let connection = report.connection { try store.recordConnection(connection, at: now) }
        } catch {
            warn("Saving the poll result failed: \(error)")
        }
        store.afterCommit(context).forEach(warn)
    }

    /// Determines the dates of every bottle's quarantined records again, with the settings of that bottle.
    private func resolveQuarantine(_ options: PollOptions) throws -> [(entry: JournalEntry, outcome: JournalOutcome)] {
        try store.bottles().flatMap { bottle in
            let own = AdoptedBottle(identities: [], settings: try store.ownSettings(ofBottle: bottle.name))
            return try QuarantineReview.run(
                store, bottles: [bottle.name], options: options.applyingSettings(of: own), now: now)
        }
    }

    /// The failed polls that were kept for diagnosis, newest first. They can contain names of other bottles.
    package func failedPolls() -> [FailedPoll] { FailedPollFiles.all(beside: store.path) }

    /// The capture of a kept poll in btsnoop format.
    /// - Throws: `Refusal` (`noSuchPoll`) if there is none with this id.
    package func capture(ofKeptPoll id: String) throws -> Data {
        guard let capture = FailedPollFiles.capture(id, beside: store.path) else {
            throw Refusal(
                "noSuchPoll", "No such kept poll. Only the newest \(FailedPollFiles.limit) are kept.",
                category: .notFound, values: ["given": id])
        }
        return capture
    }

    /// The light to set on a bottle; `nil` if it is already set, or if the store does not own the bottle.
    package func light(ofBottle bottle: String) throws -> BottleLight? {
        // The user might have released the bottle since the poll began.
        guard try store.isOwn(bottle) else { return nil }
        return try changedLight(of: bottle, try store.preview(context))
    }

    /// The store's own bottles whose light must be set by an extra poll; none in quiet hours.
    package func lightsDue() throws -> [String: BottleLight] {
        let evaluation = try store.preview(context)
        guard !evaluation.snapshot.isQuiet else { return [:] }
        return try store.bottles().filter(\.isOwn).reduce(into: [:]) {
            $0[$1.name] = try changedLight(of: $1.name, evaluation)
        }
    }

    private func changedLight(of bottle: String, _ evaluation: Evaluation) throws -> BottleLight? {
        let settings = try store.ownSettings(ofBottle: bottle) ?? store.settings().bottle
        let light = evaluation.light(by: settings)
        return try light == store.light(ofBottle: bottle) ? nil : light
    }
}
