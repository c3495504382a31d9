import GRDB
package import TrackerCore

extension TrackerStore {
    /// Logs a drink manually.
    /// - Throws: `Refusal` for an amount outside 1–2000 ml or a time in the future.
    package func logDrink(ml: Int, at instant: Instant? = nil, _ context: WriteContext) throws -> StoredDrink {
        let instant = instant ?? context.now
        try check(ml: ml)
        try Self.check(instant: instant, now: context.now, in: context.zone)
        return try write { db in
            let day = try dayCalendar(context.zone, db).day(of: instant)
            try db.run(
                "INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [context.makeID(), instant, context.zone.id, day, ml, context.source, context.now])
            let number = db.lastInsertedRowID
            try ChangeLog.record([.drink(number, before: nil)], "log \(ml) ml", context, db)
            return try storedDrink(number, db)
        }
    }

    /// Changes a drink's amount or time. The old key gets a tombstone, and the changed drink a new key.
    /// - Parameter time: the local time in the drink's time zone; its day stays (tracker spec T). Excludes `instant`.
    /// - Throws: `Refusal` if there is no such drink, or if a value is invalid.
    package func editDrink(
        _ name: String, ml: Int? = nil, at instant: Instant? = nil, time: TimeOfDay? = nil, _ context: WriteContext
    ) throws -> StoredDrink {
        if let ml { try check(ml: ml) }
        return try write { db in
            let old = try requireDrink(name, db)
            let zone = (try? Zone(old.zone)) ?? context.zone
            let calendar = try dayCalendar(zone, db)
            let moved = time.map { Self.moment($0, in: old, calendar) } ?? instant
            if let time, let moved, moved > context.now, time.hour < calendar.boundaryHour {
                throw Refusal(
                    "notInTheFuture",
                    """
                    \(time) is before \(TimeOfDay(hour: calendar.boundaryHour)): on this day, that is the next \
                    morning, which is in the future.
                    """
                )
            }
            if let moved { try Self.check(instant: moved, now: context.now, in: time == nil ? context.zone : zone) }
            let newInstant = moved ?? old.at
            // The day does not change unless `instant` is given.
            let day = try instant == nil ? old.localDay : dayCalendar(context.zone, db).day(of: newInstant)
            let before = try ChangedRow.drink(old.number, db)
            try markDeleted([old], context, db)
            try db.run(
                """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, bottle, updatedAt, correctionOf)
                SELECT ?, ?, ?, ?, ?, source, bottle, ?, coalesce(correctionOf, key) FROM drink WHERE id = ?
                """,
                [
                    context.makeID(), newInstant, instant == nil ? old.zone : context.zone.id, day, ml ?? old.ml,
                    context.now, old.number,
                ])
            let number = db.lastInsertedRowID
            try ChangeLog.record([before, .drink(number, before: nil)], "edit of \(old.ml) ml", context, db)
            try refreshSummaries(around: [newInstant], context, db)
            return try storedDrink(number, db)
        }
    }

    /// Replaces a drink by a tombstone, so that the next poll does not add it again.
    package func deleteDrink(_ name: String, _ context: WriteContext) throws -> StoredDrink {
        try write { db in
            let old = try requireDrink(name, db)
            let before = try ChangedRow.drink(old.number, db)
            try markDeleted([old], context, db)
            try ChangeLog.record([before], "deletion of \(old.ml) ml", context, db)
            return old
        }
    }

    /// Deletes every drink of the current day, including the bottle's (tracker spec D3). Reminder counts stay.
    /// - Returns: the deleted drinks.
    package func resetToday(_ context: WriteContext) throws -> [StoredDrink] {
        try write { db in
            let drinks = try DrinkTable.drinks(on: dayCalendar(context.zone, db).day(of: context.now), db)
            guard !drinks.isEmpty else { return [] }
            let before = try drinks.map { try ChangedRow.drink($0.number, db) }
            try markDeleted(drinks, context, db)
            let description = "reset of today (\(drinks.count) drink\(drinks.count == 1 ? "" : "s"))"
            try ChangeLog.record(before, description, context, db)
            return drinks
        }
    }

    // MARK: - Helpers

    private func markDeleted(_ drinks: [StoredDrink], _ context: WriteContext, _ db: Database) throws {
        for drink in drinks {
            try db.run("UPDATE drink SET deleted = 1, updatedAt = ? WHERE id = ?", [context.now, drink.number])
        }
        try refreshSummaries(around: drinks.map(\.at), context, db)
    }

    /// The instant of a local time on a drink's day. A time before the boundary hour is on the next date. If the time
    /// occurs twice, returns the instant nearer to the old one.
    /// - Parameter calendar: in the drink's time zone.
    private static func moment(_ time: TimeOfDay, in drink: StoredDrink, _ calendar: DayCalendar) -> Instant {
        // If the boundary hour has changed since the drink was stored, use the date nearest to the old time.
        let isByToday = calendar.day(of: drink.at) == drink.localDay
        let date = drink.localDay.adding(days: time.hour < calendar.boundaryHour ? 1 : 0)
        let near = calendar.date(of: drink.at)
        let dates = isByToday ? [date] : [near, near.adding(days: -1), near.adding(days: 1)]
        let moments = dates.flatMap { calendar.moments(on: $0, at: time) }
        return moments.min { abs($0.seconds(to: drink.at)) < abs($1.seconds(to: drink.at)) } ?? drink.at
    }

    private func requireDrink(_ name: String, _ db: Database) throws -> StoredDrink {
        guard let drink = try DrinkTable.matches(of: name, db).first else {
            throw Refusal("noSuchDrink", "There is no drink \"\(name)\".", category: .notFound, values: ["given": name])
        }
        return drink
    }

    private func storedDrink(_ number: Int64, _ db: Database) throws -> StoredDrink {
        guard let drink = try DrinkTable.drink(number, db) else {
            preconditionFailure("row \(number) is missing, although this transaction wrote it")
        }
        return drink
    }

    private func check(ml: Int) throws {
        guard Drink.manualMl.contains(ml) else {
            let units = (try? settings().amountUnits) ?? .ml
            let given = units == .ml ? "\(ml) ml" : units.text(ml),
                most = units == .ml ? "" : " (up to \(units.text(Drink.manualMl.upperBound)))"
            throw Refusal(
                "amountRange",
                """
                \(given) is outside the range of one drink: \
                \(Drink.manualMl.lowerBound)–\(Drink.manualMl.upperBound) ml\(most).
                """
            )
        }
    }

    /// Checks that a drink's time is supported and not in the future.
    /// - Parameter zone: the time zone of the message.
    static func check(instant: Instant, now: Instant, in zone: Zone) throws {
        if !instant.isSupported { throw Refusal("timeRange", UnsupportedInstant(instant: instant).description) }
        guard instant <= now else {
            let wall = zone.wall(at: instant)
            throw Refusal(
                "notInTheFuture",
                "\(wall.dateText) \(wall.timeText.prefix(5)) is in the future: a drink is logged after it was drunk."
            )
        }
    }
}
