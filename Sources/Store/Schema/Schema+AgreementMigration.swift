extension Schema {
    /// Years that records took from a clock that nobody agreed with (`JournalEntry.yearClock`), and when a bottle's
    /// clock was right last.
    static let agreements = Migration(
        name: "agreements",
        sql: """
            ALTER TABLE bottle_record ADD COLUMN yearBoot INTEGER;   -- which start of the computer that clock ran in
            ALTER TABLE bottle_record ADD COLUMN yearStart INTEGER;  -- what that clock said the start was, ms UTC; \
            NULL: the year is settled
            CREATE INDEX bottle_record_openYear ON bottle_record (bottle, id) WHERE yearStart IS NOT NULL;
            ALTER TABLE bottle ADD COLUMN agreedAt INTEGER;          -- ms UTC
            ALTER TABLE bottle ADD COLUMN agreedOffset INTEGER;      -- of the zone then, seconds
            """)
}
