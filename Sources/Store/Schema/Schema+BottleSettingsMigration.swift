extension Schema {
    /// What one bottle's settings say otherwise than the store's (`bottle.…`, design "three kinds of setting"): a row
    /// for each that it has of its own. Without one it is as the store's settings say, as it was for every bottle
    /// before this step.
    static let bottleSettings = Migration(
        name: "bottleSettings",
        sql: """
            CREATE TABLE bottle_setting (
                bottle INTEGER NOT NULL REFERENCES bottle (id) ON DELETE CASCADE,
                name TEXT NOT NULL,
                value TEXT NOT NULL,                      -- the text that settings are set by; empty: unset, whatever \
            the store's settings say
                PRIMARY KEY (bottle, name)
            ) STRICT, WITHOUT ROWID;
            """)
}
