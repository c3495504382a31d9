extension Schema {
    /// Browsers that a person's notifications are pushed to, and the key by which their push services know that it is
    /// us.
    static let push = Migration(
        name: "push",
        sql: """
            CREATE TABLE push_key (
                only INTEGER PRIMARY KEY CHECK (only = 1),
                private BLOB NOT NULL                     -- P-256; made when a browser asks first, since each keeps \
            to the key that it was given
            ) STRICT;
            CREATE TABLE push_subscription (
                id TEXT PRIMARY KEY,
                endpoint TEXT NOT NULL UNIQUE,            -- where its push service takes messages: whoever knows it \
            may send there
                p256dh BLOB NOT NULL,                     -- for whom it is encrypted
                auth BLOB NOT NULL,
                label TEXT NOT NULL,
                since INTEGER NOT NULL,
                token TEXT                                -- by which it was let in; NULL: a page of this machine
            ) STRICT, WITHOUT ROWID;
            """)
}
