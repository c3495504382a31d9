extension Schema {
    /// Files that this store has written beside itself: only these are ever deleted again. The names of a store of
    /// before did not carry the store's, and are remembered only where the counters say that it wrote them.
    static let files = Migration(
        name: "files",
        sql: """
            CREATE TABLE written_file (
                name TEXT PRIMARY KEY                     -- relative to the store's folder; a folder ends with /
            ) WITHOUT ROWID, STRICT;
            INSERT INTO written_file (name)
                SELECT column1 FROM (VALUES ('health/'), ('health/drinks.xml'), ('health/drinks.csv'))
                WHERE EXISTS (SELECT 1 FROM counter WHERE name = 'health.xmlBytes' AND value > 0);
            DELETE FROM counter WHERE name LIKE 'health.%';
            """)
}
