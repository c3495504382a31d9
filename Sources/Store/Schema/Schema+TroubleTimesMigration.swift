extension Schema {
    /// Since when an outlet does not reach its other end, and the same of a phone's server: whoever looks at the day
    /// sees it, too.
    static let troubleTimes = Migration(
        name: "troubleTimes",
        sql: """
            ALTER TABLE outlet ADD COLUMN troubleSince INTEGER;  -- NULL: there is none, or nobody noted it
            CREATE TABLE pocket_trouble (
                outlet TEXT PRIMARY KEY,                  -- as in pocket_message
                words TEXT NOT NULL,
                since INTEGER NOT NULL,                   -- when it began; the words may be others by now
                settings TEXT NOT NULL                    -- a fingerprint of those with which it was tried: with \
            others it may be over
            ) STRICT, WITHOUT ROWID;
            """)
}
