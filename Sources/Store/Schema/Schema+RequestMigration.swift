extension Schema {
    /// What a client asked for, under the key that it gave: asked again, it is not done again. And what a token is good
    /// for.
    static let requests = Migration(
        name: "requests",
        sql: """
            CREATE TABLE request (
                seq INTEGER PRIMARY KEY,                  -- in the order in which they came: no clock decides what is \
            forgotten
                key TEXT NOT NULL UNIQUE,                 -- the client's own
                fingerprint TEXT NOT NULL,                -- of what was asked: the same key for something else is a \
            mistake
                at INTEGER NOT NULL,                      -- ms UTC
                status INTEGER,                           -- what was answered; NULL: the process ended before it \
            could say
                body BLOB
            ) STRICT;
            ALTER TABLE token ADD COLUMN scope TEXT NOT NULL DEFAULT 'control';
            """)
}
