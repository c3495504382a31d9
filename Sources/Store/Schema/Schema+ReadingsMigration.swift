extension Schema {
    /// Step 3: one row a record, however it is read; who a bottle is beside what it is called.
    ///
    /// - `reading` says how the bytes were read (`calendar/u16be`). The first eight bytes and `isDrink` identify a
    ///   dated record, so that another dialect finds the same row; `isDrink` is the record's own flag, of 0 ml too.
    /// - `about` is when a record without a believable date probably was.
    /// - Records that a dialect refused lay among the undecodable bytes, under a limit: those that are left become
    ///   records.
    /// - `isAlias` tells a name that a person gave from one that a bottle has by itself.
    static let readings = Migration(
        name: "readings",
        sql: """
            ALTER TABLE bottle_record ADD COLUMN reading TEXT;
            ALTER TABLE bottle_record ADD COLUMN about INTEGER;
            ALTER TABLE bottle_name ADD COLUMN isAlias INTEGER NOT NULL DEFAULT 0;

            DROP INDEX bottle_record_identity;
            CREATE INDEX bottle_record_identity ON bottle_record (bottle, substr(raw, 1, 8));
            CREATE INDEX bottle_record_unsettled ON bottle_record (bottle, id) WHERE verdict = 'quarantined';
            CREATE INDEX bottle_record_reading ON bottle_record (bottle, reading);
            UPDATE bottle_record SET isDrink = 1 WHERE verdict = 'notADrink' AND reason = 'zero';
            UPDATE bottle_record SET reading = (
                SELECT dialect || '/' || coalesce(
                    (SELECT CASE value WHEN 'u8' THEN 'u8' WHEN 'u16be' THEN 'u16be' END FROM setting WHERE name = \
            'bottle.amountWidth'),
                    CASE dialect WHEN 'strict' THEN 'u8' ELSE 'u16be' END)
                FROM (SELECT coalesce((SELECT value FROM setting WHERE name = 'bottle.recordDialect'), 'calendar') AS \
            dialect));

            INSERT OR IGNORE INTO bottle_record (bottle, raw, amountMl, isDrink, verdict, reason, received)
                SELECT n.bottle, q.bytes, 0, 0, 'quarantined', 'refusedByDialect', q.received
                FROM quarantine q JOIN bottle_name n ON n.name = q.bottle
                WHERE q.length = 13 AND q.reason LIKE 'a record that the % dialect refuses%';
            DELETE FROM quarantine WHERE length = 13 AND reason LIKE 'a record that the % dialect refuses%'
                AND bottle IN (SELECT name FROM bottle_name);

            UPDATE bottle_name SET isAlias = 1 WHERE name = (SELECT value FROM setting WHERE name = 'bottle.alias');
            """)
}
