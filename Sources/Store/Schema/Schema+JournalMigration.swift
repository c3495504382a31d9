extension Schema {
    /// Step 1: bottles, what they delivered, and the drinks that count.
    ///
    /// - `bottle_record` is the journal: the raw 13 bytes with what was made of them. A record that could be dated is
    ///   identified by bottle, wall time, amount and whether it is a drink; one that could not, by its bytes.
    ///   `verdict` is `drink`, `notADrink`, `quarantined`, or `superseded` (was in quarantine; the same drink was
    ///   stored under its identity meanwhile).
    /// - `drink` is what counts, from every source. `deleted` is a tombstone: the key stays taken.
    /// - `quarantine` keeps undecodable bytes, bounded; `counter` says how many there ever were.
    static let journal = Migration(
        name: "journal",
        sql: """
            CREATE TABLE migration (name TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;
            CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
            CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;

            CREATE TABLE bottle (
                id INTEGER PRIMARY KEY,
                origin TEXT NOT NULL UNIQUE,      -- the identity it was first seen under; never changes, part of keys
                name TEXT NOT NULL UNIQUE,        -- the identity it goes by now
                advertisedName TEXT,
                model TEXT,
                batteryPercent INTEGER,
                clockDriftSeconds INTEGER,
                lastPoll INTEGER,                 -- end of the last poll, ms UTC
                lastCompletePoll INTEGER          -- end of the last poll that read the whole log, ms UTC
            ) STRICT;
            CREATE TABLE bottle_name (            -- every identity this bottle is or was known by
                name TEXT PRIMARY KEY,
                bottle INTEGER NOT NULL REFERENCES bottle (id)
            ) WITHOUT ROWID, STRICT;

            CREATE TABLE bottle_record (
                id INTEGER PRIMARY KEY,
                bottle INTEGER NOT NULL REFERENCES bottle (id),
                raw BLOB NOT NULL,
                wall TEXT,                        -- yyyy-MM-ddTHH:mm:ss with the resolved year
                amountMl INTEGER NOT NULL,
                isDrink INTEGER NOT NULL,
                verdict TEXT NOT NULL CHECK (verdict IN ('drink', 'notADrink', 'quarantined', 'superseded')),
                reason TEXT,
                received INTEGER NOT NULL         -- ms UTC
            ) STRICT;
            CREATE UNIQUE INDEX bottle_record_identity ON bottle_record (bottle, wall, amountMl, isDrink)
                WHERE verdict IN ('drink', 'notADrink');
            CREATE UNIQUE INDEX bottle_record_quarantine ON bottle_record (bottle, raw) WHERE verdict = 'quarantined';

            CREATE TABLE drink (
                id INTEGER PRIMARY KEY,
                key TEXT NOT NULL UNIQUE,
                instant INTEGER NOT NULL,         -- ms UTC
                zone TEXT NOT NULL,               -- IANA id, frozen at ingest
                localDay TEXT NOT NULL,           -- yyyy-MM-dd, frozen at ingest
                ml INTEGER NOT NULL,
                source TEXT NOT NULL,
                bottle INTEGER REFERENCES bottle (id),
                deleted INTEGER NOT NULL DEFAULT 0,
                updatedAt INTEGER NOT NULL        -- ms UTC
            ) STRICT;
            CREATE INDEX drink_by_day ON drink (localDay, deleted, ml);
            CREATE INDEX drink_by_instant ON drink (instant);

            CREATE TABLE quarantine (
                id INTEGER PRIMARY KEY,
                bottle TEXT NOT NULL,
                bytes BLOB NOT NULL,              -- cut at quarantineByteLimit
                length INTEGER NOT NULL,          -- as received
                reason TEXT NOT NULL,
                received INTEGER NOT NULL,        -- last time, ms UTC
                times INTEGER NOT NULL            -- how often the same bytes came
            ) STRICT;
            CREATE INDEX quarantine_lookup ON quarantine (bottle, length);
            """)
}
