import GRDB
import TrackerCore

extension TrackerStore {
    /// The settings in force. A stored value that no longer fits its rule reads as the default and is reported.
    public func settingsAndRefused() throws -> (settings: Settings, refused: [SettingRefusal]) {
        try read { db in Settings.restored(from: try SettingTable.texts(db)) }
    }

    public func settings() throws -> Settings { try settingsAndRefused().settings }

    /// Changes settings: all of them or, where a rule refuses one, none.
    ///
    /// A new goal holds from the current day on: earlier days keep the goal they ended with (`tracker.md` D3). A new
    /// alias renames the bottle where there is only one, so that its history goes along.
    /// - Throws: `SettingRefusal`, which names the rule and the value that stays.
    @discardableResult
    public func changeSettings(_ changes: [(name: String, text: String)], _ context: WriteContext) throws -> Settings {
        try write { db in
            let old = Settings.restored(from: try SettingTable.texts(db)).settings
            var new = old
            let presets = try String.fetchAll(db, sql: "SELECT id FROM preset WHERE deleted = 0")
            try new.set(changes, presets: Set(presets))
            try SettingTable.save(new, db)
            if new.goalMl != old.goalMl {
                let today = DayCalendar(zone: context.zone, boundaryHour: new.boundaryHour).day(of: context.now)
                try DayGoals.change(from: old.goalMl, to: new.goalMl, on: today, db)
            }
            if let alias = new.bottleAlias, alias != old.bottleAlias {
                let names = try String.fetchAll(db, sql: "SELECT name FROM bottle LIMIT 2")
                if names.count == 1, names[0] != alias { try renameBottle(names[0], to: alias, db) }
            }
            if new.syncURL != old.syncURL {
                try db.execute(sql: "DELETE FROM outbox")
                try Outbox.putAll(at: context.now, db)
            }
            return new
        }
    }

    /// The goal of each day asked for: the one in force at its end.
    public func goals(from first: LocalDay, through last: LocalDay) throws -> [LocalDay: Int] {
        try read { db in try DayGoals(db).between(first, last) }
    }
}

enum SettingTable {
    static func texts(_ db: Database) throws -> [String: String] {
        let rows = try Row.fetchAll(try db.cachedStatement(sql: "SELECT name, value FROM setting"))
        return Dictionary(rows.map { ($0["name"] as String, $0["value"] as String) }, uniquingKeysWith: { _, last in last })
    }

    /// Keeps what differs from the defaults.
    static func save(_ settings: Settings, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM setting")
        for (name, value) in settings.stored {
            try db.execute(sql: "INSERT INTO setting (name, value) VALUES (?, ?)", arguments: [name, value])
        }
    }
}

/// Which goal was in force at the end of which day: rows of `day` say from which day on a goal holds.
struct DayGoals {
    private let changes: [(day: LocalDay, goalMl: Int)]
    private let current: Int

    init(_ db: Database) throws {
        changes = try Row.fetchAll(try db.cachedStatement(sql: "SELECT localDay, goalMl FROM day ORDER BY localDay"))
            .compactMap { row in LocalDay(row["localDay"] as String).map { ($0, row["goalMl"]) } }
        current = Settings.restored(from: try SettingTable.texts(db)).settings.goalMl
    }

    /// Days before the first change had the first goal that is known.
    func goal(of day: LocalDay) -> Int {
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].day <= day { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? changes[low - 1].goalMl : changes.first?.goalMl ?? current
    }

    func between(_ first: LocalDay, _ last: LocalDay) -> [LocalDay: Int] {
        var goals: [LocalDay: Int] = [:]
        var day = first
        while day <= last {
            goals[day] = goal(of: day)
            day = day.adding(days: 1)
        }
        return goals
    }

    static func change(from old: Int, to new: Int, on day: LocalDay, _ db: Database) throws {
        let isFirst = try Int.fetchOne(db, sql: "SELECT count(*) FROM day") == 0
        let firstDrink = try String.fetchOne(
            db, sql: "SELECT min(localDay) FROM drink WHERE localDay < ?", arguments: [day.description])
        if isFirst, let firstDrink {
            // Days that passed under the goal nobody had changed yet.
            try db.execute(sql: "INSERT INTO day (localDay, goalMl) VALUES (?, ?)", arguments: [firstDrink, old])
        }
        try db.execute(sql: """
            INSERT INTO day (localDay, goalMl) VALUES (?, ?) ON CONFLICT (localDay) DO UPDATE SET goalMl = excluded.goalMl
            """, arguments: [day.description, new])
    }
}
