extension Schema {
    /// All tables. An empty line separates statements, as in `statements(_:)`.
    ///
    /// Times are milliseconds since 1970 in UTC. `WITHOUT ROWID` tables are read by their keys only.
    static let tables = """
        CREATE TABLE setting (                    -- of the store; without a row a setting has its default
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE counter (                    -- named numbers
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE bottle (
            id INTEGER PRIMARY KEY,
            origin TEXT NOT NULL UNIQUE,          -- its first identity: constant, and a part of the keys of its drinks
            name TEXT NOT NULL,                   -- its alias, or else an identity
            advertisedName TEXT,
            model TEXT,
            batteryPercent INTEGER,
            clockDriftSeconds INTEGER,
            lastPoll INTEGER,                     -- end of the last poll
            lastCompletePoll INTEGER,             -- end of the last poll that read the whole log
            isOwn INTEGER NOT NULL DEFAULT 0,     -- 1: adopted; 0: released, or known only from a recording
            lastAgreedPoll INTEGER,               -- end of the last poll that acknowledged records
            largestReading INTEGER,               -- the most records in readings of its log that agreed
            light TEXT                            -- the last light command sent to it; NULL: none
        ) STRICT;

        CREATE TABLE bottle_name (                -- all identities of a bottle, and its aliases
            name TEXT NOT NULL,
            isAlias INTEGER NOT NULL DEFAULT 0,   -- 1: a name from the user, never an identity
            bottle INTEGER NOT NULL REFERENCES bottle (id),
            PRIMARY KEY (name, isAlias),
            CHECK (isAlias OR name NOT IN ('health', 'session')),
            CHECK (NOT isAlias OR name NOT GLOB '*[0-9A-Fa-f]:[0-9A-Fa-f][0-9A-Fa-f]:[0-9A-Fa-f]*')
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE bottle_setting (             -- settings of one bottle; they override those of the store
            bottle INTEGER NOT NULL REFERENCES bottle (id) ON DELETE CASCADE,
            name TEXT NOT NULL,
            value TEXT NOT NULL,                  -- empty: unset, even if the store has the setting
            PRIMARY KEY (bottle, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE bottle_record (              -- the journal: all records, as the bottles sent them
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            bottle INTEGER NOT NULL REFERENCES bottle (id),
            raw BLOB NOT NULL,                    -- the record's bytes
            wall TEXT,                            -- yyyy-MM-ddTHH:mm:ss, with the inferred year
            amountMl INTEGER NOT NULL,
            isDrink INTEGER NOT NULL,             -- the record's own flag
            verdict TEXT NOT NULL CHECK (verdict IN ('drink', 'notADrink', 'quarantined', 'superseded')),
            reason TEXT,
            received INTEGER NOT NULL,
            reading TEXT,                         -- how the bytes were decoded, for example calendar/u16be
            about INTEGER                         -- probable time of a record without a plausible date
        ) STRICT;

        CREATE TABLE quarantine (                 -- bytes that could not be decoded; `counter` has their total number
            id INTEGER PRIMARY KEY,
            bottle TEXT NOT NULL,
            bytes BLOB NOT NULL,                  -- truncated to a maximum length
            length INTEGER NOT NULL,              -- as received
            reason TEXT NOT NULL,
            received INTEGER NOT NULL,            -- the last time
            times INTEGER NOT NULL                -- number of times these bytes were received
        ) STRICT;

        CREATE TABLE connection_state (           -- the error of the last connection attempt; no row: none
            only INTEGER PRIMARY KEY CHECK (only = 1),
            problem TEXT NOT NULL,                -- `ConnectionProblem.Kind`
            message TEXT,                         -- of the link
            since INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE drink (                      -- all drinks, from all sources
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is not used again
            key TEXT NOT NULL UNIQUE,
            instant INTEGER NOT NULL CHECK (instant BETWEEN -62135596800000 AND 253402300799999), -- years 1 to 9999
            zone TEXT NOT NULL,                   -- IANA identifier; never changes
            localDay TEXT NOT NULL CHECK (localDay IS date(localDay, '+0 days')), -- yyyy-MM-dd, changes with `instant`
            ml INTEGER NOT NULL CHECK (ml BETWEEN 0 AND 100000),
            source TEXT NOT NULL,
            bottle INTEGER REFERENCES bottle (id),
            deleted INTEGER NOT NULL DEFAULT 0,   -- 1: a tombstone, which keeps the key
            updatedAt INTEGER NOT NULL,
            correctionOf TEXT,                    -- of a correction: the key of the corrected drink
            deletedWith TEXT,                     -- of a tombstone: what deleted it and can restore it; NULL: the user
            firstPosition INTEGER,                -- of its insertion in the sequence of changes
            position INTEGER                      -- of its last change in the sequence of changes
        ) STRICT;

        CREATE TABLE drink_sequence (             -- the last position in the sequence of changes
            only INTEGER PRIMARY KEY CHECK (only = 1),
            last INTEGER NOT NULL,
            restoredThrough INTEGER NOT NULL DEFAULT 0 -- positions up to here come from a restore: do not send them
        ) STRICT;

        CREATE TABLE drink_change (               -- changes that an open publisher has not sent
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE              -- of the drink; the drink can be deleted by now
        ) STRICT;

        CREATE TABLE publisher (                  -- publishers of all changes: MQTT and PostgreSQL
            name TEXT PRIMARY KEY,
            id TEXT NOT NULL,                     -- the client identifier, created once
            isOpen INTEGER NOT NULL DEFAULT 1,    -- 0: switched off
            position INTEGER NOT NULL,            -- changes up to here were acknowledged
            lifetimeMl INTEGER NOT NULL DEFAULT 0, -- the largest total that was sent: a meter never decreases
            origin TEXT,                          -- machine and file of the store; NULL: never connected
            address TEXT                          -- of the receiver; NULL: unknown, or switched off
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE stale_topic (                -- retained topics, deleted if no publisher has this address and id
            address TEXT NOT NULL,                -- of the broker; empty: unknown
            id TEXT NOT NULL,                     -- the client identifier
            topic TEXT NOT NULL,
            PRIMARY KEY (address, id, topic)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE day (                        -- goals: each is valid from its day until the next row
            localDay TEXT PRIMARY KEY CHECK (localDay IS date(localDay, '+0 days')),
            goalMl INTEGER NOT NULL CHECK (goalMl BETWEEN 0 AND 100000)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE engine_day (                 -- the reminder engine's state of one day, as JSON
            dayKey TEXT PRIMARY KEY,
            state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE profile (                    -- the user
            id TEXT PRIMARY KEY,
            deviceId TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            onboardedAt INTEGER
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE token (                      -- bearer tokens
            id TEXT PRIMARY KEY,
            hash TEXT NOT NULL UNIQUE,            -- SHA-256; the token itself is not stored
            label TEXT NOT NULL,
            createdAt INTEGER NOT NULL,
            lastUsedAt INTEGER,                   -- to the day
            revokedAt INTEGER,
            scope TEXT NOT NULL DEFAULT 'control'
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE request (                    -- HTTP requests with an idempotency key
            seq INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            fingerprint TEXT NOT NULL,            -- of the request: the same key with another request is an error
            at INTEGER NOT NULL,
            status INTEGER,                       -- of the response; NULL: the process ended before it
            body BLOB
        ) STRICT;

        CREATE TABLE session (                    -- Waterline's sessions
            id TEXT PRIMARY KEY,
            userId TEXT NOT NULL,
            startTime INTEGER NOT NULL CHECK (startTime BETWEEN -62135596800000 AND 253402300799999),
            endTime INTEGER CHECK (endTime BETWEEN -62135596800000 AND 253402300799999),
            isActive INTEGER NOT NULL,
            sealed INTEGER NOT NULL DEFAULT 0,
            ruleN INTEGER CHECK (ruleN BETWEEN 1 AND 10000), -- this and the next: constant after the end
            bottleWater TEXT,
            waterOz INTEGER,
            threshold INTEGER,
            reminders TEXT,                       -- the reminders' state, as JSON
            computedSummary TEXT,                 -- of an ended session, as JSON
            updatedAt INTEGER NOT NULL,
            deviceId TEXT NOT NULL                -- of the last writer: decides between equal `updatedAt`
        ) STRICT;

        CREATE TABLE log_entry (                  -- a session's drinks and waters
            seq INTEGER PRIMARY KEY AUTOINCREMENT, -- insertion order
            id TEXT NOT NULL UNIQUE,
            sessionId TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
            timestamp INTEGER NOT NULL CHECK (timestamp BETWEEN -62135596800000 AND 253402300799999),
            type TEXT NOT NULL CHECK (type IN ('alcohol', 'water')),
            drinkType TEXT,
            sizeOz REAL CHECK (sizeOz BETWEEN 0 AND 10000),
            abv REAL CHECK (abv BETWEEN 0 AND 100),
            standardDrinkEstimate REAL CHECK (standardDrinkEstimate BETWEEN 0 AND 10000),
            presetId TEXT,
            amountOz REAL CHECK (amountOz BETWEEN 0 AND 10000),
            source TEXT NOT NULL,
            deleted INTEGER NOT NULL DEFAULT 0,   -- 1: a tombstone
            updatedAt INTEGER NOT NULL,
            deviceId TEXT NOT NULL
        ) STRICT;

        CREATE TABLE excluded_log (               -- bottle drinks that the user removed from a session
            id TEXT PRIMARY KEY,
            sessionId TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE preset (
            id TEXT PRIMARY KEY,
            userId TEXT NOT NULL,
            name TEXT NOT NULL,
            drinkType TEXT NOT NULL,
            sizeOz REAL CHECK (sizeOz BETWEEN 0 AND 10000),
            abv REAL CHECK (abv BETWEEN 0 AND 100),
            standardDrinkEstimate REAL NOT NULL CHECK (standardDrinkEstimate BETWEEN 0 AND 10000),
            position INTEGER NOT NULL,
            deleted INTEGER NOT NULL DEFAULT 0,
            updatedAt INTEGER NOT NULL,
            deviceId TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE change (                     -- manual changes, for undo
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            at INTEGER NOT NULL,
            description TEXT NOT NULL,            -- for the user
            before TEXT NOT NULL                  -- the previous rows, as JSON
        ) STRICT;

        CREATE TABLE notification (               -- delivered notifications
            id TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            sentAt INTEGER NOT NULL,
            sinks TEXT NOT NULL,                  -- the channels that accepted it, separated by commas
            position INTEGER,                     -- in the order of delivery; NULL: answered by another notification
            decision TEXT,                        -- the whole notification, as JSON
            missed TEXT                           -- channels that did not show it, with reasons: desktop=replaced
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE claim (                      -- notifications that a process is delivering; a claim expires
            id TEXT PRIMARY KEY,                  -- of the notification
            claimant TEXT NOT NULL,
            claimedAt INTEGER NOT NULL,
            decision TEXT,                        -- the whole notification, as JSON
            position INTEGER                      -- of the notification after its delivery
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE channel_position (           -- the last notification that a channel has processed
            channel TEXT PRIMARY KEY,
            position INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE queued_notification (        -- notifications for ntfy and webhooks
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            channel TEXT NOT NULL,                -- ntfy or webhook
            id TEXT NOT NULL,                     -- of the notification
            kind TEXT NOT NULL,                   -- a later notification of this kind can replace a waiting one
            announcement TEXT NOT NULL,           -- title, text and buttons, as JSON
            since INTEGER NOT NULL,               -- time of the decision
            state TEXT NOT NULL,                  -- waiting, sent, dropped or refused
            key TEXT NOT NULL,                    -- authorises its buttons, and nothing else
            UNIQUE (channel, id)
        ) STRICT;

        CREATE TABLE channel_error (              -- the last error of a channel or publisher; no row: none
            channel TEXT PRIMARY KEY,
            message TEXT NOT NULL,
            since INTEGER NOT NULL,
            settings TEXT NOT NULL                -- a hash of the settings at that time
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE outbox (                     -- changes for the sync server
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            entity TEXT NOT NULL,
            id TEXT NOT NULL,
            op TEXT NOT NULL,
            payload TEXT NOT NULL,
            updatedAt INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            notBefore INTEGER NOT NULL DEFAULT 0,
            rejection TEXT                        -- why the server rejects it; NULL: not rejected
        ) STRICT;

        CREATE TABLE sync_state (                 -- the last synchronisation
            only INTEGER PRIMARY KEY CHECK (only = 1),
            trouble TEXT,                         -- the error that ended it; NULL: none
            refused INTEGER NOT NULL,             -- number of the server's rows that were rejected
            refusals TEXT                         -- the first of those rows with the reasons, as JSON
        ) STRICT;

        CREATE TABLE phone_health_sample (        -- drinks that a phone wrote to its health records
            key TEXT PRIMARY KEY,
            instant INTEGER NOT NULL,
            ml INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE inbox_file (                 -- imported files
            name TEXT PRIMARY KEY,
            signature TEXT NOT NULL               -- size and modification time; an unchanged file is not imported again
        ) STRICT, WITHOUT ROWID;
        """

    static let indexes = """
        CREATE INDEX bottle_record_identity ON bottle_record (bottle, substr(raw, 1, 8));
        CREATE UNIQUE INDEX bottle_record_quarantine ON bottle_record (bottle, raw) WHERE verdict = 'quarantined';
        CREATE INDEX bottle_record_unsettled ON bottle_record (bottle, id) WHERE verdict = 'quarantined';
        CREATE INDEX bottle_record_key ON bottle_record (bottle, wall || '|' || amountMl) WHERE verdict = 'drink';
        CREATE INDEX bottle_record_reading ON bottle_record (bottle, reading);
        CREATE INDEX quarantine_lookup ON quarantine (bottle, length);
        CREATE INDEX drink_by_day ON drink (localDay, deleted, ml);
        CREATE INDEX drink_by_instant ON drink (instant);
        CREATE INDEX drink_correction ON drink (correctionOf) WHERE correctionOf IS NOT NULL;
        CREATE INDEX drink_by_position ON drink (position);
        CREATE UNIQUE INDEX drink_version ON drink (coalesce(correctionOf, key)) WHERE deleted = 0;
        CREATE UNIQUE INDEX session_active ON session (isActive) WHERE isActive = 1;
        CREATE INDEX session_by_start ON session (startTime);
        CREATE INDEX log_entry_by_session ON log_entry (sessionId, timestamp, seq);
        CREATE INDEX notification_by_time ON notification (sentAt);
        CREATE UNIQUE INDEX notification_by_position ON notification (position) WHERE position IS NOT NULL;
        CREATE INDEX queued_notification_waiting ON queued_notification (channel, seq) WHERE state = 'waiting';
        CREATE INDEX queued_notification_key ON queued_notification (key);
        CREATE INDEX outbox_by_entity ON outbox (entity, id);
        CREATE INDEX phone_health_sample_minute ON phone_health_sample (instant / 60000, ml);
        """

    /// The triggers. Each change of a drink records its position, and its key for open publishers. A drink that is
    /// inserted with a position keeps it.
    static let triggers = """
        CREATE TRIGGER drink_position_insert AFTER INSERT ON drink WHEN NEW.position IS NULL BEGIN
            INSERT INTO drink_sequence (only, last) VALUES (1, 1) ON CONFLICT (only) DO UPDATE SET last = last + 1;
            UPDATE drink SET firstPosition = (SELECT last FROM drink_sequence),
                position = (SELECT last FROM drink_sequence) WHERE id = NEW.id;
        END;

        CREATE TRIGGER drink_position_update AFTER UPDATE OF key, instant, zone, localDay, ml, deleted ON drink BEGIN
            INSERT INTO drink_sequence (only, last) VALUES (1, 1) ON CONFLICT (only) DO UPDATE SET last = last + 1;
            UPDATE drink SET position = (SELECT last FROM drink_sequence) WHERE id = NEW.id;
        END;

        CREATE TRIGGER drink_position_delete AFTER DELETE ON drink BEGIN
            UPDATE drink_sequence SET last = last + 1;
        END;

        CREATE TRIGGER drink_change_insert AFTER INSERT ON drink
        WHEN EXISTS (SELECT 1 FROM publisher WHERE isOpen) BEGIN
            DELETE FROM drink_change WHERE key = NEW.key;
            INSERT INTO drink_change (key) VALUES (NEW.key);
        END;

        CREATE TRIGGER drink_change_delete AFTER DELETE ON drink
        WHEN EXISTS (SELECT 1 FROM publisher WHERE isOpen) BEGIN
            DELETE FROM drink_change WHERE key = OLD.key;
            INSERT INTO drink_change (key) VALUES (OLD.key);
        END;

        CREATE TRIGGER drink_change_update AFTER UPDATE OF key, instant, zone, localDay, ml, deleted ON drink
        WHEN EXISTS (SELECT 1 FROM publisher WHERE isOpen) BEGIN
            DELETE FROM drink_change WHERE key IN (OLD.key, NEW.key);
            INSERT INTO drink_change (key) SELECT OLD.key WHERE OLD.key <> NEW.key;
            INSERT INTO drink_change (key) VALUES (NEW.key);
        END;
        """
}
