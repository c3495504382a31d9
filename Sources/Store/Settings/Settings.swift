import GRDB
package import TrackerCore

extension TrackerStore {
    /// The effective settings. An invalid stored value counts as the default and is reported.
    package func validatedSettings() throws -> (settings: Settings, invalid: [SettingRefusal]) {
        let (settings, invalid) = try read { db in Settings.restored(from: try SettingTable.texts(db)) }
        return (settings.withDefaultUnits(defaultUnits), invalid)
    }

    package func settings() throws -> Settings { try validatedSettings().settings }

    /// Changes settings: all, or none if a rule rejects one.
    ///
    /// A new goal applies from the current day on (tracker spec D3). Another Waterline interval restarts the grid of an
    /// active session (E4). A new alias renames the only bottle. Without an alias, its name is its identity.
    /// - Parameter isFirstChoice: the first goal, chosen in setup, also applies to earlier days.
    /// - Throws: `SettingRefusal` with the rule and the current value.
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
                if BottleTable.isAddress(alias), try BottleTable.findIdentity(alias, db) == nil {
                    throw Refusal("aliasIsAddress", "invalid alias \"\(alias)\": an alias must not be an address")
                }
                let names = try String.fetchAll(db, sql: "SELECT name FROM bottle WHERE isOwn LIMIT 2")
                if names.count == 1, names[0] != alias { try BottleTable.rename(names[0], to: alias, db) }
            } else if new.bottle.alias == nil, let alias = old.bottle.alias {
                try BottleTable.removeAlias(alias, db)
            }
            if new.service.syncURL != old.service.syncURL {
                try db.execute(sql: "DELETE FROM outbox")
                try SyncStateTable.delete(db)
                try OutboxWriter.enqueueAll(at: context.now, db)
            } else if changes.contains(where: { $0.name.lowercased().hasPrefix("sync.") }) {
                // The user changed the credential or confirmed the address: retry rejected changes.
                try OutboxTable.retryAll(db)
            }
            if OutboxWriter.synchronised(new) != OutboxWriter.synchronised(old), let profile = try ProfileTable.find(db)
            {
                try OutboxWriter.enqueue(.user, profile.userID, at: context.now, db)
            }
            return new
        }
    }

    /// Totals and goals between two days, inclusive.
    /// - Parameter moment: the moment of `--now`; `nil` counts all stored drinks.
    package func history(from first: LocalDay, through last: LocalDay, knownAt moment: Instant? = nil) throws -> History
    {
        let totals = try totals(from: first, through: last, knownAt: moment)
        return History(
            totals: Dictionary(totals.map { ($0.day, $0.totalMl) }, uniquingKeysWith: +), goals: try goalHistory())
    }

    /// The goal at the end of each known day.
    package func goalHistory() throws -> GoalHistory {
        try read { db in
            GoalHistory(
                goals: Dictionary(uniqueKeysWithValues: try db.pairs("SELECT localDay, goalMl FROM day")),
                current: try SettingTable.settings(db).goalMl)
        }
    }

    /// The number of consecutive days that met their goal (tracker spec D3). Reads only the days of the streak.
    /// - Parameter moment: the moment of `--now`; `nil` counts all stored drinks.
    package func streak(today: LocalDay, knownAt moment: Instant? = nil) throws -> Int {
        var days = 32
        while true {
            let streak = try history(from: today.adding(days: -days), through: today, knownAt: moment).streak(
                today: today)
            if streak < days { return streak }
            days *= 4
        }
    }

    /// The effective settings of a bottle, and the names of its own ones.
    /// - Throws: `Refusal` for an unknown bottle.
    package func settings(ofBottle bottle: String) throws -> (settings: Settings, own: Set<String>) {
        try read { db in try SettingTable.settings(ofBottle: BottleTable.require(bottle, db), db) }
    }

    /// The effective settings of a bottle with its own; `nil` if it has none or is unknown.
    package func ownSettings(ofBottle bottle: String) throws -> BottleSettings? {
        try read { db in
            guard let id = try BottleTable.find(bottle, db), try db.has("FROM bottle_setting WHERE bottle = ?", [id])
            else { return nil }
            return try SettingTable.settings(ofBottle: id, db).settings.bottle
        }
    }

    /// Changes a bottle's own settings: all, or none if a rule rejects one. A new alias renames it.
    /// - Parameter changes: the names begin with `bottle.`; the text `nil` unsets the bottle's own value.
    /// - Throws: `SettingRefusal` with the rule and the current value; `Refusal` for an unknown bottle.
    @discardableResult
    package func changeSettings(_ changes: [(name: String, text: String?)], ofBottle bottle: String) throws -> (
        settings: Settings, own: Set<String>
    ) {
        try write { db in
            let id = try BottleTable.require(bottle, db)
            var settings = try SettingTable.settings(ofBottle: id, db).settings
            for change in changes {
                let name = try Settings.bottleSetting(change.name, value: change.text ?? "")
                if name == Settings.aliasName {
                    guard let alias = change.text, !alias.isEmpty else {
                        throw SettingRefusal(
                            name: name, value: "",
                            rule: "It must be a new name: a name can be changed, not removed.", currentValue: bottle)
                    }
                    try settings.set(name, to: alias)
                    try BottleTable.rename(bottle, to: settings.bottle.alias ?? alias, db)
                    continue
                }
                if let text = change.text {
                    try settings.set(name, to: text)
                    try SettingTable.save(settings.value(of: name)?.text ?? text, as: name, ofBottle: id, db)
                } else {
                    try SettingTable.save(nil, as: name, ofBottle: id, db)
                }
            }
            return try SettingTable.settings(ofBottle: id, db)
        }
    }
}

enum SettingTable {
    static func texts(_ db: Database) throws -> [String: String] {
        Dictionary(uniqueKeysWithValues: try db.pairs("SELECT name, value FROM setting"))
    }

    static func settings(_ db: Database) throws -> Settings { Settings.restored(from: try texts(db)).settings }

    /// The effective settings of a bottle, and the names of its own ones.
    static func settings(ofBottle bottle: Int64, _ db: Database) throws -> (settings: Settings, own: Set<String>) {
        let own: [(String, String)] = try db.pairs("SELECT name, value FROM bottle_setting WHERE bottle = ?", [bottle])
        return (Settings.restored(from: try texts(db).merging(own) { $1 }).settings, Set(own.map(\.0)))
    }

    /// Sets or unsets (`nil`) a bottle's own setting.
    static func save(_ text: String?, as name: String, ofBottle bottle: Int64, _ db: Database) throws {
        guard let text else {
            return try db.run("DELETE FROM bottle_setting WHERE bottle = ? AND name = ?", [bottle, name])
        }
        try db.run(
            "INSERT OR REPLACE INTO bottle_setting (bottle, name, value) VALUES (?, ?, ?)", [bottle, name, text])
    }

    /// Stores the values that differ from the defaults.
    static func save(_ settings: Settings, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM setting")
        for (name, value) in settings.stored {
            try db.run("INSERT INTO setting (name, value) VALUES (?, ?)", [name, value])
        }
    }
}

/// Access to the table `day`, which stores the goals and the day from which each applies.
enum DayGoals {
    /// The day from which the first goal applies.
    static let beginning = "0001-01-01"

    static func change(from old: Int, to new: Int, on day: LocalDay, isFirstChoice: Bool, _ db: Database) throws {
        // A goal from setup on the first day also applies to imported earlier days.
        let isNew =
            try isFirstChoice && !db.has("FROM drink WHERE localDay < ?", [day])
            && !db.has("FROM engine_day WHERE dayKey < ?", [day])
        if try !isNew && !db.has("FROM day") {
            try db.run("INSERT INTO day (localDay, goalMl) VALUES (?, ?)", [beginning, old])
        }
        try db.run("INSERT OR REPLACE INTO day (localDay, goalMl) VALUES (?, ?)", [day, new])
    }
}
