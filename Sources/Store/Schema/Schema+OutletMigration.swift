extension Schema {
    /// Where drinks are told one by one to somebody who may be away: each such outlet has a position in the sequence of
    /// what changed, and no copy of anything. A drink that changed again stands in it once, at its newest place.
    /// Without an open outlet nothing is noted.
    static let outlets = Migration(
        name: "outlets",
        sql: """
            CREATE TABLE outlet (
                name TEXT PRIMARY KEY,
                id TEXT NOT NULL,                         -- under which the other end knows it, made once
                isOpen INTEGER NOT NULL DEFAULT 1,        -- 0: switched off; nothing is noted for it
                position INTEGER NOT NULL,                -- all changes up to here have arrived there
                lifetimeMl INTEGER NOT NULL DEFAULT 0     -- the largest sum that was told: meters never run backwards
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE outlet_topic (                   -- what the other end keeps of ours until we take it back
                outlet TEXT NOT NULL REFERENCES outlet (name) ON DELETE CASCADE,
                topic TEXT NOT NULL,
                PRIMARY KEY (outlet, topic)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE drink_change (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,    -- never used again, so that a position keeps its meaning
                key TEXT NOT NULL UNIQUE                  -- the drink's, whether it is still there or not
            ) STRICT;
            CREATE TRIGGER drink_change_insert AFTER INSERT ON drink WHEN EXISTS (SELECT 1 FROM outlet WHERE isOpen) \
            BEGIN
                DELETE FROM drink_change WHERE key = NEW.key;
                INSERT INTO drink_change (key) VALUES (NEW.key);
            END;
            CREATE TRIGGER drink_change_delete AFTER DELETE ON drink WHEN EXISTS (SELECT 1 FROM outlet WHERE isOpen) \
            BEGIN
                DELETE FROM drink_change WHERE key = OLD.key;
                INSERT INTO drink_change (key) VALUES (OLD.key);
            END;
            CREATE TRIGGER drink_change_update AFTER UPDATE OF key, instant, zone, localDay, ml, deleted ON drink
            WHEN EXISTS (SELECT 1 FROM outlet WHERE isOpen) BEGIN
                DELETE FROM drink_change WHERE key IN (OLD.key, NEW.key);
                INSERT INTO drink_change (key) SELECT OLD.key WHERE OLD.key <> NEW.key;
                INSERT INTO drink_change (key) VALUES (NEW.key);
            END;
            """)
}
