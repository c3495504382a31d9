extension Schema {
    /// What is known of this computer's clock at two kinds of moments: when something was received last by a clock that
    /// was believed (`bottle` is NULL, one row), and when a bottle's clock was set by it (`ClockSetting`).
    static let clocks = Migration(
        name: "clocks",
        sql: """
            CREATE TABLE clock_mark (
                id INTEGER PRIMARY KEY,
                bottle INTEGER REFERENCES bottle (id),
                wall INTEGER NOT NULL,                    -- what the clock said, ms UTC
                boot INTEGER,                             -- which start of the computer `uptime` counts from
                uptime INTEGER NOT NULL,                  -- ms since that start
                isSynchronized INTEGER,                   -- whether a time server kept it right; NULL: nobody knows
                lastRecord INTEGER NOT NULL DEFAULT 0     -- the last row of bottle_record then
            ) STRICT;
            CREATE INDEX clock_mark_bottle ON clock_mark (bottle);
            """)

    /// Whether somebody else agreed with the clock of a receipt. Of what older versions wrote nobody knows; they took
    /// it for granted.
    static let witness = Migration(
        name: "witness",
        sql: """
            ALTER TABLE clock_mark ADD COLUMN isWitnessed INTEGER NOT NULL DEFAULT 1;
            """)

    /// Whether a bottle's clock showed the right day when it was set: then it has its day from itself.
    static let nearSettings = Migration(
        name: "nearSettings",
        sql: """
            ALTER TABLE clock_mark ADD COLUMN wasNear INTEGER NOT NULL DEFAULT 0;
            """)

    /// In which zone a bottle was told the time: its clock has none, and shows hours more or less after a journey.
    static let toldZones = Migration(
        name: "toldZones",
        sql: """
            ALTER TABLE clock_mark ADD COLUMN zoneOffset INTEGER;      -- seconds east of UTC; NULL: nobody noted it
            """)
}
