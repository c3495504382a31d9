extension Schema {
    /// The place of each drink in the sequence of all changes: a reader who knows the last one that it read goes on
    /// from there, and nothing is kept for readers. A drink that changes moves to the end.
    static let places = Migration(
        name: "places",
        sql: """
            CREATE TABLE drink_sequence (
                only INTEGER PRIMARY KEY CHECK (only = 1),
                last INTEGER NOT NULL
            ) STRICT;
            ALTER TABLE drink ADD COLUMN born INTEGER;        -- the place that it had first
            ALTER TABLE drink ADD COLUMN place INTEGER;
            UPDATE drink SET born = id, place = id;
            INSERT INTO drink_sequence (only, last) SELECT 1, id FROM drink ORDER BY id DESC LIMIT 1;
            CREATE INDEX drink_place ON drink (place);
            CREATE TRIGGER drink_place_insert AFTER INSERT ON drink BEGIN
                INSERT INTO drink_sequence (only, last) VALUES (1, 1) ON CONFLICT (only) DO UPDATE SET last = last + 1;
                UPDATE drink SET born = (SELECT last FROM drink_sequence), place = (SELECT last FROM drink_sequence) \
            WHERE id = NEW.id;
            END;
            CREATE TRIGGER drink_place_update AFTER UPDATE OF key, instant, zone, localDay, ml, deleted ON drink BEGIN
                INSERT INTO drink_sequence (only, last) VALUES (1, 1) ON CONFLICT (only) DO UPDATE SET last = last + 1;
                UPDATE drink SET place = (SELECT last FROM drink_sequence) WHERE id = NEW.id;
            END;
            """)
}
