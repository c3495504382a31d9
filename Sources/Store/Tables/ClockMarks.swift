import GRDB
import TrackerCore

/// Readings of this computer's clock that later ones are compared with (`ClockMark`).
enum ClockMarks {
    /// The clock of `BottleMemory.newestReceipt`.
    static func receipt(_ db: Database) throws -> ClockSetting? {
        try Row.fetchOne(
            try db.cachedStatement(sql: "SELECT * FROM clock_mark WHERE bottle IS NULL ORDER BY id DESC LIMIT 1")
        ).flatMap(setting)
    }

    /// The last of those that somebody else agreed with.
    static func witness(_ db: Database) throws -> ClockSetting? {
        try Row.fetchOne(
            try db.cachedStatement(
                sql: "SELECT * FROM clock_mark WHERE bottle IS NULL AND isWitnessed ORDER BY id DESC LIMIT 1")
        ).flatMap(setting)
    }

    /// The last of those that a time server kept right.
    static func served(_ db: Database) throws -> ClockSetting? {
        try Row.fetchOne(
            try db.cachedStatement(
                sql: "SELECT * FROM clock_mark WHERE bottle IS NULL AND isSynchronized = 1 ORDER BY id DESC LIMIT 1")
        ).flatMap(setting)
    }

    /// When a bottle's clock was set, oldest first.
    static func settings(of bottle: Int64, _ db: Database) throws -> [ClockSetting] {
        try Row.fetchAll(
            try db.cachedStatement(sql: "SELECT * FROM clock_mark WHERE bottle = ? ORDER BY id"), arguments: [bottle]
        ).compactMap(setting)
    }

    /// What a time server said stays, until one says something else, or somebody believes a clock that is behind it
    /// (`ClockMark.outlives`).
    static func setReceipt(_ mark: ClockMark?, isWitnessed: Bool, _ db: Database) throws {
        let isLast = mark == nil || isWitnessed
        let kept = try mark.flatMap { mark in try served(db)?.mark.outlives(mark) }
        try db.executeOften(
            sql:
                """
                DELETE FROM clock_mark WHERE bottle IS NULL AND (? OR NOT isWitnessed) AND NOT (? AND \
                isSynchronized IS 1)
                """,
            arguments: [isLast, kept ?? false])
        if let mark { try insert(mark, of: nil, isWitnessed: isWitnessed, db) }
    }

    /// More settings of one bottle's clock than so many are no history but a defect: the oldest are forgotten. What
    /// such a setting led to can be put right only while it is known.
    static let limit = 1024
    /// Of those by minutes or hours only the last matter.
    static let nearLimit = 64

    static func addSetting(_ mark: ClockMark, wasNear: Bool, of bottle: Int64, _ db: Database) throws {
        try insert(mark, of: bottle, wasNear: wasNear, db)
        try db.execute(
            sql: """
                DELETE FROM clock_mark WHERE bottle = :bottle AND wasNear = :near
                    AND id NOT IN (SELECT id FROM clock_mark WHERE bottle = :bottle AND wasNear = :near ORDER BY id \
                DESC LIMIT :limit)
                """, arguments: ["bottle": bottle, "near": wasNear, "limit": wasNear ? nearLimit : limit])
    }

    static func forgetSettings(of bottle: Int64, _ db: Database) throws {
        try db.executeOften(sql: "DELETE FROM clock_mark WHERE bottle = ?", arguments: [bottle])
    }

    private static func insert(
        _ mark: ClockMark, of bottle: Int64?, isWitnessed: Bool = true, wasNear: Bool = false, _ db: Database
    ) throws {
        try db.executeOften(
            sql: """
                INSERT INTO clock_mark (bottle, wall, boot, uptime, isSynchronized, isWitnessed, wasNear, zoneOffset, \
                lastRecord)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM bottle_record))
                """,
            arguments: [
                bottle, mark.wall.milliseconds, mark.boot, mark.uptime, mark.isSynchronized, isWitnessed, wasNear,
                mark.zoneOffset,
            ])
    }

    /// A row that somebody else wrote says nothing.
    private static func setting(_ row: Row) -> ClockSetting? {
        try? ClockSetting(
            mark: ClockMark(
                wall: row.instant("wall"), boot: row.checked("boot"), uptime: row.checked("uptime"),
                isSynchronized: (row.checked("isSynchronized", Int64?.self)).map { $0 != 0 },
                zoneOffset: (row.checked("zoneOffset", Int64?.self)).flatMap {
                    (-86_400...86_400).contains($0) ? Int($0) : nil
                }),
            lastRecord: row.checked("lastRecord"), wasNear: (row.checked("wasNear", Int64.self)) != 0)
    }
}
