extension Schema {
    /// What the other end of an outlet keeps of ours and nobody owns any more: of a store that was purged, or at a
    /// place that is not named any more. It is taken back as soon as that place can be reached, and so how to reach it
    /// is kept until then.
    static let leavings = Migration(
        name: "leavings",
        sql: """
            ALTER TABLE outlet ADD COLUMN place TEXT;  -- where the other end is that keeps something of ours, in the \
            outlet's own words; NULL: nobody noted it
            CREATE TABLE leaving (
                place TEXT NOT NULL,                      -- as in outlet; empty: nobody noted it
                id TEXT NOT NULL,                         -- under which the other end knows who left it
                topic TEXT NOT NULL,
                since INTEGER,                            -- when it was first tried to take it back
                PRIMARY KEY (place, id, topic)
            ) STRICT, WITHOUT ROWID;
            """)
}
