extension Schema {
    /// What was told stands in one order, with its words, so that whoever was away hears it later as all others did;
    /// and a claim says what is being told, so that nothing is told in other words where its teller died.
    static let telling = Migration(
        name: "telling",
        sql: """
            ALTER TABLE notification ADD COLUMN place INTEGER;  -- in the order of everything that was told; NULL: the \
            same banner as another, or of an older program
            ALTER TABLE notification ADD COLUMN decision TEXT;  -- all of it, as JSON
            ALTER TABLE notification ADD COLUMN missed TEXT;  -- who was away and is not shown it any more, and why: \
            desktop=replaced
            ALTER TABLE claim ADD COLUMN decision TEXT;  -- what is being told, as JSON; NULL: nothing that has to \
            come to an end
            ALTER TABLE claim ADD COLUMN place INTEGER;  -- that it will have
            CREATE TABLE told_through (                   -- who hears what was told while they were away
                outlet TEXT PRIMARY KEY,
                place INTEGER NOT NULL                    -- everything up to here is dealt with
            ) STRICT, WITHOUT ROWID;
            CREATE UNIQUE INDEX notification_by_place ON notification (place) WHERE place IS NOT NULL;
            """)
}
