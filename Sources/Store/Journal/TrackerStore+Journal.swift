import GRDB
package import TrackerCore

extension TrackerStore: Journal {
    /// Appends a batch in one transaction, which is on disk when this returns.
    ///
    /// The identity of a dated record is the bottle, its first eight bytes and whether it is a drink. A tombstone keeps
    /// its identity, so a deleted drink stays a duplicate. The identity of an undated record is all its bytes; a later
    /// delivery with a date promotes it.
    package func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
        guard !entries.isEmpty else { return [] }
        return try write { db in
            var writer = try JournalWriter(db, hostZone: hostZone)
            let outcomes = try entries.map { try writer.append($0) }
            try refreshSummaries(around: writer.changedInstants, received: entries.map(\.received).max(), db)
            return outcomes
        }
    }

    /// Updates summaries after a change of drinks, because late drinks of a session count in it (tracker spec X1).
    func refreshSummaries(around instants: [Instant], received: Instant?, _ db: Database) throws {
        // This context creates no identifiers.
        let context = WriteContext(
            now: received ?? Instant(milliseconds: 0), zone: .utc, source: "bottle", makeID: { "unknown" })
        try refreshSummaries(around: instants, context, db)
    }

    package func storedState(of names: BottleNames) throws -> StoredBottleState {
        try read { db in try BottleTable.storedState(of: names.identity, db) }
    }

    package func adopt(_ names: BottleNames) throws {
        // Write only if something is new, so that a known bottle does not wait for another process.
        let isDone = try read { db in
            guard let bottle = try BottleTable.findIdentity(names.identity, db), try BottleTable.isOwn(bottle, db)
            else { return false }
            return try BottleTable.newAlias(names, of: bottle, db) == nil
        }
        guard !isDone else { return }
        try write { db in
            if names.wasAdopted, let bottle = try BottleTable.findIdentity(names.identity, db),
                try !BottleTable.isOwn(bottle, db)
            {
                throw ReleasedBottle(names.identity)
            }
            try BottleTable.adopt(names, db)
        }
    }

    package func isOwn(_ bottle: String) throws -> Bool {
        try read { db in try BottleTable.findIdentity(bottle, db).map { try BottleTable.isOwn($0, db) } ?? true }
    }

    package func reviewableRecords(of bottle: String, reading: String, after id: Int64, limit: Int) throws
        -> [ReviewableRecord]
    {
        try read { db in
            guard let number = try BottleTable.find(bottle, db) else { return [] }
            // Two index ranges, because most records need no new reading.
            let columns = "SELECT id, bottle, raw, received, reason, verdict FROM bottle_record"
            let rows = try Row.fetchAll(
                try db.cachedStatement(
                    sql: """
                        SELECT r.id, b.origin, raw, received, iif(verdict = 'quarantined', reason, NULL) FROM (
                            \(columns) WHERE bottle = :bottle AND id > :id AND verdict = 'quarantined'
                                AND reason IS NOT 'bottleClock' AND NOT (reading IS :reading
                                    AND reason IN ('impossibleDate', 'implausibleYear', 'refusedByDialect'))
                            UNION ALL \(columns) WHERE bottle = :bottle AND id > :id AND reading < :reading
                                AND verdict IN ('drink', 'notADrink') AND reason IS NOT 'byHand'
                            UNION ALL \(columns) WHERE bottle = :bottle AND id > :id AND reading > :reading
                                AND verdict IN ('drink', 'notADrink') AND reason IS NOT 'byHand'
                        ) r JOIN bottle b ON b.id = r.bottle ORDER BY r.id LIMIT :limit
                        """), arguments: ["bottle": number, "id": id, "reading": reading, "limit": limit])
            return try rows.map { row in
                ReviewableRecord(
                    id: try row.decode(atIndex: 0), bottle: try row.decode(atIndex: 1), raw: try row.bytes("raw"),
                    received: try row.decode(atIndex: 3), quarantineReason: try row.decode(atIndex: 4))
            }
        }
    }

    /// Records the end of a poll. Values that the bottle did not send do not change. An end by a trusted clock replaces
    /// later ones by a clock that was ahead.
    package func finishPoll(_ report: PollRecord) throws {
        try write { db in
            let bottle = try BottleTable.findOrAdd(report.bottle, db)
            let ended = report.isClockUntrusted ? nil : report.endedAt
            try db.run(
                """
                UPDATE bottle SET advertisedName = coalesce(:name, advertisedName), model = coalesce(:model, model),
                    batteryPercent = coalesce(:battery, batteryPercent),
                    clockDriftSeconds = coalesce(:drift, clockDriftSeconds),
                    lastPoll = coalesce(:ended, lastPoll),
                    lastAgreedPoll = CASE WHEN :acknowledged AND :ended IS NOT NULL THEN :ended
                        WHEN lastAgreedPoll > :ended THEN NULL ELSE lastAgreedPoll END,
                    largestReading = max(coalesce(largestReading, 0), :largest),
                    lastCompletePoll = CASE WHEN :complete AND :ended IS NOT NULL THEN :ended
                        WHEN lastCompletePoll > :ended THEN NULL ELSE lastCompletePoll END
                WHERE id = :bottle
                """,
                [
                    "name": report.name, "model": report.model, "battery": report.batteryPercent,
                    "drift": report.clockDriftSeconds, "ended": ended, "complete": report.complete,
                    "acknowledged": report.hasAcknowledged, "largest": report.largestReading, "bottle": bottle,
                ])
            if let ended { try Counter.set(BottleTable.newestReceipt, Int(ended.milliseconds), db) }
        }
    }
}
