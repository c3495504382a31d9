import GRDB
package import TrackerCore

/// The values of a new session entry.
package struct LogDraft: Hashable, Sendable {
    package var kind: LogEntry.Kind
    /// The type of drink; `nil` for water.
    package var drinkType: DrinkType?
    /// The volume in US fluid ounces.
    package var sizeOz: Double?
    /// The strength in percent by volume (0–100).
    package var abv: Double?
    /// The standard drinks; `nil` computes them from volume and strength, or uses 1.
    package var standardDrinkEstimate: Double?
    package var presetID: String?
    /// The volume of a water in US fluid ounces.
    package var amountOz: Double?

    /// An alcoholic drink of a preset, with another estimate if given.
    package static func drink(_ preset: DrinkPreset, estimate: Double? = nil) -> LogDraft {
        LogDraft(
            kind: .alcohol, drinkType: preset.drinkType, sizeOz: preset.sizeOz, abv: preset.abv,
            standardDrinkEstimate: estimate ?? preset.standardDrinkEstimate, presetID: preset.id)
    }

    /// An alcoholic drink without a preset; the default is 1.0 standard drinks (K-E7).
    package static func drink(
        estimate: Double = 1, drinkType: DrinkType? = nil, sizeOz: Double? = nil, abv: Double? = nil
    ) -> LogDraft {
        LogDraft(kind: .alcohol, drinkType: drinkType, sizeOz: sizeOz, abv: abv, standardDrinkEstimate: estimate)
    }

    package static func water(oz: Double) -> LogDraft { LogDraft(kind: .water, amountOz: oz) }
}

extension TrackerStore {
    /// Adds an entry to the active session.
    /// - Throws: `WaterlineSession.Refusal`: no active session, a time outside it, an estimate out of range.
    package func addLog(_ draft: LogDraft, at instant: Instant? = nil, _ context: WriteContext) throws -> LogEntry {
        try write { db in
            guard let session = try SessionTable.active(db) else {
                throw WaterlineSession.Refusal.noActiveSession
            }
            let log = LogEntry(
                id: context.makeID(), sessionID: session.id, timestamp: instant ?? context.now, kind: draft.kind,
                drinkType: draft.drinkType, sizeOz: draft.sizeOz, abv: draft.abv,
                standardDrinkEstimate: draft.standardDrinkEstimate, presetID: draft.presetID, amountOz: draft.amountOz,
                source: DrinkSource(rawValue: context.source), updatedAt: context.now, seq: 0)
            try session.checkEdit(log, now: context.now)
            let seq = try LogTable.insert(log, ProfileTable.findOrCreate(db, context).deviceID, db)
            try propagateChange(log.id, session, context, db)
            try ChangeLog.record([.log(Int64(seq), before: nil)], draft.kind == .water ? "water" : "drink", context, db)
            return try LogTable.log(seq, db)
        }
    }

    /// Changes an entry and recomputes the session. `nil` values stay.
    package func editLog(
        _ name: String, at instant: Instant? = nil, estimate: Double? = nil, amountOz: Double? = nil,
        _ context: WriteContext
    ) throws -> LogEntry {
        try write { db in
            let (old, session) = try loggedEntry(name, db)
            var log = old
            log.timestamp = instant ?? log.timestamp
            if let estimate, log.kind == .alcohol {
                guard estimate.isFinite else { throw WaterlineSession.Refusal.estimate }
                log.standardDrinkEstimate = StandardDrinks.rounded(estimate)
            }
            if let amountOz, log.kind == .water { log.amountOz = amountOz }
            try session.checkEdit(log, now: context.now)
            let before = try ChangedRow.log(log.seq, db)
            try db.run(
                """
                UPDATE log_entry SET timestamp = ?, standardDrinkEstimate = ?, amountOz = ?,
                    updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE seq = ?
                """,
                [
                    log.timestamp, log.standardDrinkEstimate, log.amountOz, context.now,
                    try ProfileTable.findOrCreate(db, context).deviceID, log.seq,
                ])
            try propagateChange(log.id, session, context, db)
            try ChangeLog.record([before], "edit of a \(log.kind == .water ? "water" : "drink")", context, db)
            return try LogTable.log(log.seq, db)
        }
    }

    /// Deletes an entry, or excludes a derived water.
    package func deleteLog(_ name: String, _ context: WriteContext) throws {
        try write { db in
            if try exclude(name, context, db) { return }
            let (log, session) = try loggedEntry(name, db)
            try session.checkEdit(log, now: context.now)
            let before = try ChangedRow.log(log.seq, db)
            try db.run(
                "UPDATE log_entry SET deleted = 1, updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE seq = ?",
                [context.now, try ProfileTable.findOrCreate(db, context).deviceID, log.seq])
            try propagateChange(log.id, session, context, db)
            try ChangeLog.record([before], "deletion of a \(log.kind == .water ? "water" : "drink")", context, db)
        }
    }

    /// Whether an entry with that name (`w7`, or its id) exists.
    package func hasLog(named name: String) throws -> Bool {
        try read { db in try LogTable.find(name, db) != nil || derivedSession(of: name, db) != nil }
    }

    // MARK: - Helpers

    /// Queues a changed entry for the server, and updates the drink of the day and the session's summary.
    func propagateChange(_ id: String, _ session: WaterlineSession, _ context: WriteContext, _ db: Database) throws {
        try OutboxWriter.enqueue(.logEntry, id, at: context.now, db)
        try recordSessionWater(id, context, db)
        try summarise(session, context, db)
    }

    /// Adds the water of a session as a drink of the day, if `hydration.countSessionWater` is set (tracker spec X1).
    ///
    /// The drink follows changes of its entry, even after a change of the setting, until the user corrects or deletes
    /// the drink. Deleting the entry deletes the drink with its corrections; restoring the entry restores it
    /// (`deletedWith`). Derived waters are not added, because the bottle's drinks count.
    func recordSessionWater(_ id: String, _ context: WriteContext, _ db: Database) throws {
        let row = try Row.fetchOne(db, sql: "\(LogTable.select) WHERE id = ?", arguments: [id])
        let settings = try SettingTable.settings(db)
        guard let row,
            let drink = try LogEntry(row: row).hydrationDrink(
                calendar: try dayCalendar(context.zone, db), defaultWaterOz: settings.defaultWaterOz)
        else { return }
        guard try !row.decode(forColumn: "deleted") else {
            return try db.run(
                """
                UPDATE drink SET deleted = 1, deletedWith = ?, updatedAt = ?
                WHERE (key = ? OR correctionOf = ?) AND deleted = 0
                """, [id, context.now, drink.key, drink.key])
        }
        try db.run(
            "UPDATE drink SET deleted = 0, deletedWith = NULL, updatedAt = ? WHERE deletedWith = ?", [context.now, id])
        try db.run(
            "UPDATE drink SET instant = ?, localDay = ?, ml = ?, updatedAt = ? WHERE key = ? AND deleted = 0",
            [drink.at, drink.localDay, drink.ml, context.now, drink.key])
        guard settings.countSessionWater else { return }
        try db.run(
            """
            INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (key) DO NOTHING
            """,
            [drink.key, drink.at, drink.zone, drink.localDay, drink.ml, drink.source.rawValue, context.now])
    }

    private func loggedEntry(_ name: String, _ db: Database) throws -> (LogEntry, WaterlineSession) {
        guard let log = try LogTable.find(name, db), let session = try SessionTable.find(log.sessionID, db) else {
            if try derivedSession(of: name, db) != nil { throw WaterlineSession.Refusal.derived }
            throw Refusal("noSuchEntry", "There is no entry \"\(name)\".", category: .notFound, values: ["given": name])
        }
        return (log, session)
    }

    /// The session in the name of a derived entry: `SESSION|DRINK KEY`, with `|INDEX` if one drink made several.
    private func derivedSession(of name: String, _ db: Database) throws -> WaterlineSession? {
        guard let bar = name.firstIndex(of: "|") else { return nil }
        return try SessionTable.find(String(name[..<bar]), db)
    }

    private func exclude(_ name: String, _ context: WriteContext, _ db: Database) throws -> Bool {
        guard let session = try derivedSession(of: name, db) else { return false }
        if session.sealed { throw WaterlineSession.Refusal.sealed }
        guard try view(session, at: context.now, db).logs.contains(where: { $0.id == name }) else { return false }
        try db.run("INSERT OR IGNORE INTO excluded_log (id, sessionId) VALUES (?, ?)", [name, session.id])
        try ChangeLog.record([.excluded(name)], "exclusion of a bottle's water", context, db)
        try summarise(session, context, db)
        return true
    }
}
