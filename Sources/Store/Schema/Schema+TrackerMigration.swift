extension Schema {
    /// Step 2: everything the tracker remembers beside the drinks.
    ///
    /// - `day` holds the goals: a row says which goal is in force at the end of that day and of the days after it, up
    ///   to the next row, so that raising the goal rewrites no history (tracker law D3).
    /// - `engine_day` is what the reminder engines remember of a day, `session` and `log_entry` are Waterline's facts;
    ///   a deleted log entry stays as a tombstone with its own `updatedAt` (last write wins).
    /// - `change` keeps what a manual change replaced, for undo.
    /// - `outbox` is filled in the transaction of the change it reports, and only where `sync.url` is set.
    static let tracker = Migration(
        name: "tracker",
        sql: """
            CREATE TABLE day (localDay TEXT PRIMARY KEY, goalMl INTEGER NOT NULL) WITHOUT ROWID, STRICT;

            CREATE TABLE engine_day (
                dayKey TEXT PRIMARY KEY,
                remindersSent INTEGER NOT NULL DEFAULT 0,
                lastNotified INTEGER NOT NULL DEFAULT 0,  -- urgency 0-2
                goalNotified INTEGER NOT NULL DEFAULT 0,
                lastDueAnchor INTEGER,                    -- ms UTC
                state TEXT NOT NULL                       -- the engines' whole memory of the day, JSON
            ) WITHOUT ROWID, STRICT;

            CREATE TABLE profile (                        -- the one local user
                id TEXT PRIMARY KEY,
                deviceId TEXT NOT NULL,
                createdAt INTEGER NOT NULL,
                onboardedAt INTEGER
            ) WITHOUT ROWID, STRICT;
            CREATE TABLE token (                          -- SHA-256 of bearer tokens; the token itself is never stored
                id TEXT PRIMARY KEY,
                hash TEXT NOT NULL UNIQUE,
                label TEXT NOT NULL,
                createdAt INTEGER NOT NULL,
                revokedAt INTEGER
            ) WITHOUT ROWID, STRICT;

            CREATE TABLE session (
                id TEXT PRIMARY KEY,
                userId TEXT NOT NULL,
                startTime INTEGER NOT NULL,
                endTime INTEGER,
                isActive INTEGER NOT NULL,
                sealed INTEGER NOT NULL DEFAULT 0,
                ruleN INTEGER,                            -- frozen at the end
                bottleWater TEXT,                         -- frozen at the end, like ruleN
                waterOz INTEGER,
                threshold INTEGER,
                reminders TEXT,                           -- what the reminders remember, JSON
                computedSummary TEXT,                     -- JSON, once ended
                updatedAt INTEGER NOT NULL,
                deviceId TEXT NOT NULL                    -- who wrote it last: settles equal updatedAt
            ) STRICT;
            CREATE UNIQUE INDEX session_active ON session (isActive) WHERE isActive = 1;
            CREATE INDEX session_by_start ON session (startTime);

            CREATE TABLE log_entry (
                seq INTEGER PRIMARY KEY,                  -- insertion order
                id TEXT NOT NULL UNIQUE,
                sessionId TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
                timestamp INTEGER NOT NULL,
                type TEXT NOT NULL CHECK (type IN ('alcohol', 'water')),
                drinkType TEXT,
                sizeOz REAL,
                abv REAL,
                standardDrinkEstimate REAL,
                presetId TEXT,
                amountOz REAL,
                source TEXT NOT NULL,
                deleted INTEGER NOT NULL DEFAULT 0,
                updatedAt INTEGER NOT NULL,
                deviceId TEXT NOT NULL
            ) STRICT;
            CREATE INDEX log_entry_by_session ON log_entry (sessionId, timestamp, seq);
            CREATE TABLE excluded_log (                   -- ids of waters derived from sips that a person took out
                id TEXT PRIMARY KEY,
                sessionId TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE
            ) WITHOUT ROWID, STRICT;

            CREATE TABLE preset (
                id TEXT PRIMARY KEY,
                userId TEXT NOT NULL,
                name TEXT NOT NULL,
                drinkType TEXT NOT NULL,
                sizeOz REAL,
                abv REAL,
                standardDrinkEstimate REAL NOT NULL,
                position INTEGER NOT NULL,
                deleted INTEGER NOT NULL DEFAULT 0,
                updatedAt INTEGER NOT NULL,
                deviceId TEXT NOT NULL
            ) WITHOUT ROWID, STRICT;

            CREATE TABLE notification (
                id TEXT PRIMARY KEY,
                kind TEXT NOT NULL,
                dbusId INTEGER,
                sentAt INTEGER NOT NULL,
                sinks TEXT NOT NULL
            ) WITHOUT ROWID, STRICT;
            CREATE INDEX notification_by_time ON notification (sentAt);

            CREATE TABLE outbox (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                entity TEXT NOT NULL,
                id TEXT NOT NULL,
                op TEXT NOT NULL,
                payload TEXT NOT NULL,
                updatedAt INTEGER NOT NULL,
                attempts INTEGER NOT NULL DEFAULT 0,
                notBefore INTEGER NOT NULL DEFAULT 0,
                parked TEXT                               -- why the server will never take it; NULL while it may
            ) STRICT;
            CREATE INDEX outbox_by_entity ON outbox (entity, id);

            CREATE TABLE change (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                at INTEGER NOT NULL,
                what TEXT NOT NULL,                       -- words for the person who takes it back
                before TEXT NOT NULL                      -- JSON: rows as they were
            ) STRICT;
            """)
}
