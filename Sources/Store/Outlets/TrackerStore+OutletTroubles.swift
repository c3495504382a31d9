import Cryptography
import GRDB
import TrackerCore

extension TrackerStore {
    /// What stands between an outlet and the other end from now on, in words; `nil`: nothing. Where it is known already
    /// nothing is written. Other words are the same trouble.
    package func noteTrouble(_ words: String?, of outlet: String, at now: Instant) throws {
        let words = words.map { String($0.prefix(Self.longestTrouble)) }
        guard
            try read({ db in
                try Bool.fetchOne(
                    db, sql: "SELECT trouble IS NOT ? FROM outlet WHERE name = ?", arguments: [words, outlet])
            }) == true
        else { return }
        try write { db in
            try db.execute(
                sql:
                    """
                    UPDATE outlet SET troubleSince = CASE WHEN ?1 IS NULL THEN NULL WHEN trouble IS NULL THEN ?2 \
                    ELSE troubleSince END, trouble = ?1 WHERE name = ?3
                    """,
                arguments: [words, now.milliseconds, outlet])
        }
    }

    /// The same of the server of somebody's phone, or of a program's.
    /// - Parameter settings: with which it was tried; only a fingerprint of them is kept.
    package func noteChannelTrouble(_ words: String?, of outlet: String, with settings: String, at now: Instant) throws
    {
        guard let words = words.map({ String($0.prefix(Self.longestTrouble)) }) else {
            return try forgetChannelTrouble(of: outlet)
        }
        let mark = Self.mark(settings)
        let known = "SELECT EXISTS (SELECT 1 FROM pocket_trouble WHERE outlet = ? AND words = ? AND settings = ?)"
        guard try read({ db in try Bool.fetchOne(db, sql: known, arguments: [outlet, words, mark]) }) != true else {
            return
        }
        try write { db in
            try db.execute(
                sql: """
                    INSERT INTO pocket_trouble (outlet, words, since, settings) VALUES (?, ?, ?, ?)
                    ON CONFLICT (outlet) DO UPDATE SET since = iif(settings = excluded.settings, since, \
                    excluded.since), words = excluded.words, settings = excluded.settings
                    """, arguments: [outlet, words, now.milliseconds, mark])
        }
    }

    /// It is over. One of other settings than these only; `nil`: whichever.
    package func forgetChannelTrouble(of outlet: String, unlessWith settings: String? = nil) throws {
        let mark = settings.map(Self.mark)
        let sql = "FROM pocket_trouble WHERE outlet = ? AND settings IS NOT ?"
        guard
            try read({ db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(sql))", arguments: [outlet, mark]) })
                == true
        else { return }
        try write { db in try db.execute(sql: "DELETE \(sql)", arguments: [outlet, mark]) }
    }

    /// What stands between those who are to be told and us, by their names.
    package func outletTroubles() throws -> [OutletTrouble] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT name, trouble AS words, troubleSince AS since, (SELECT count(*) FROM drink_change WHERE seq \
                    > position) AS waiting FROM outlet WHERE isOpen AND trouble IS NOT NULL
                    UNION ALL
                    SELECT outlet, words, since, (SELECT count(*) FROM pocket_message m WHERE m.outlet = t.outlet AND \
                    state = 'waiting') FROM pocket_trouble t WHERE outlet IN ('ntfy', 'webhook')
                    ORDER BY name
                    """
            ).map {
                OutletTrouble(
                    outlet: try $0.checked("name"), words: try $0.checked("words"),
                    since: try $0.checked("since", Int64?.self).map(Instant.init(milliseconds:)),
                    waiting: try $0.checked("waiting"))
            }
        }
    }

    private static let longestTrouble = 2000

    private static func mark(_ settings: String) -> String { String(SHA256.hex(settings.utf8).prefix(16)) }
}
