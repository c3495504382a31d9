extension Schema {
    /// What a phone has of ours, and what of its files was taken in.
    static let phone = Migration(
        name: "phone",
        sql: """
            CREATE TABLE health_given (                   -- drinks that a phone wrote into its own health records for \
            us
                key TEXT PRIMARY KEY,
                instant INTEGER NOT NULL,
                ml INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX health_given_minute ON health_given (instant / 60000, ml);
            CREATE TABLE inbox_file (
                name TEXT PRIMARY KEY,
                mark TEXT NOT NULL                        -- its size and when it was changed: the same file is not \
            read twice
            ) STRICT, WITHOUT ROWID;
            """)
}
