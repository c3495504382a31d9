import GRDB
import TrackerCore

extension TrackerStore {
    /// The settings in force. A stored value that no longer fits its rule reads as the default and is reported.
    package func settingsAndRefused() throws -> (settings: Settings, refused: [SettingRefusal]) {
        let (settings, refused) = try read { db in Settings.restored(from: try SettingTable.texts(db)) }
        return (settings.usually(usualUnits), refused)
    }

    /// What is in force: what stands in the store where it fits its rule, otherwise the default.
    package func settings() throws -> Settings { try settingsAndRefused().settings }

    /// Changes settings: all of them or, where a rule refuses one, none.
    ///
    /// A new goal holds from the current day on: earlier days keep the goal they ended with, also those on which
    /// nothing was drunk (tracker law D3). Another Waterline interval restarts a running session's grid now (E4). A new
    /// alias renames the bottle where there is only one, so that its history goes along; one that is taken back leaves
    /// it called as it is known by itself.
    /// - Parameter isFirstChoice: setup asks for the very first goal: the days before it had none of their own.
    /// - Throws: `SettingRefusal`, which names the rule and the value that stays.
    @discardableResult
    package func changeSettings(
        _ changes: [(name: String, text: String)], isFirstChoice: Bool = false, _ context: WriteContext
    ) throws -> Settings {
        try write { db in
            let old = try SettingTable.settings(db)
            var new = old
            let presets = try String.fetchAll(db, sql: "SELECT id FROM preset WHERE deleted = 0")
            try new.set(changes, presets: Set(presets))
            try SettingTable.save(new, db)
            if new.goalMl != old.goalMl {
                let today = DayCalendar(zone: context.zone, boundaryHour: new.boundaryHour).day(of: context.now)
                try DayGoals.change(from: old.goalMl, to: new.goalMl, on: today, isFirstChoice: isFirstChoice, db)
            }
            try restartGrid(from: old, to: new, at: context.now, db)
            if let alias = new.bottle.alias, alias != old.bottle.alias {
                let names = try String.fetchAll(db, sql: "SELECT name FROM bottle WHERE isOwn LIMIT 2")
                if names.count == 1, names[0] != alias { try BottleTable.rename(names[0], to: alias, db) }
            } else if new.bottle.alias == nil, let alias = old.bottle.alias {
                try BottleTable.takeAliasBack(alias, db)
            }
            if new.service.syncURL != old.service.syncURL {
                try db.execute(sql: "DELETE FROM outbox")
                try SyncStateTable.forget(db)
                try OutboxWriter.putAll(at: context.now, db)
            } else if changes.contains(where: { $0.name.lowercased().hasPrefix("sync.") }) {
                // Set again to the same address, or another credential: what that server had refused goes again.
                try OutboxTable.unpark(db)
            }
            if OutboxWriter.travelling(new) != OutboxWriter.travelling(old), let profile = try ProfileTable.find(db) {
                try OutboxWriter.put(.user(profile.userID), op: .createUser, at: context.now, db)
            }
            return new
        }
    }

    /// Totals and goals of the days from one to another, both included, as history shows them.
    /// - Parameter asked: what was known at that moment; `nil`: all that is stored.
    package func history(from first: LocalDay, through last: LocalDay, knownAt asked: Instant? = nil) throws -> History
    {
        let totals = try totals(from: first, through: last, knownAt: asked)
        return History(
            totals: Dictionary(totals.map { ($0.day, $0.totalMl) }, uniquingKeysWith: +), goals: try goalHistory())
    }

    /// Which goal was in force at the end of which day.
    package func goalHistory() throws -> GoalHistory {
        try read { db in
            let rows = try Row.fetchAll(try db.cachedStatement(sql: "SELECT localDay, goalMl FROM day"))
            let goals = try rows.readable(DayGoals.goal)
            return GoalHistory(
                goals: Dictionary(goals, uniquingKeysWith: max),
                current: try SettingTable.settings(db).goalMl)
        }
    }

    /// Whether a goal was ever chosen, be it the usual one.
    package func hasChosenGoal() throws -> Bool {
        try read { db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM day)") ?? false }
    }

    /// Consecutive days that met their goal (tracker law D3). Reads backwards, in growing steps, only as far as the
    /// streak goes.
    /// - Parameter asked: what was known at that moment; `nil`: all that is stored.
    package func streak(today: LocalDay, knownAt asked: Instant? = nil) throws -> Int {
        var days = 32
        while true {
            let streak = try history(from: today.adding(days: -days), through: today, knownAt: asked).streak(
                today: today)
            if streak < days { return streak }
            days *= 4
        }
    }
}
