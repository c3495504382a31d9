extension Schema {
    /// Decisions that are being told, and what came of synchronising.
    ///
    /// - `claim` says which process is telling a decision right now, so that two never tell one; it lapses after a
    ///   while, for a process that was killed in the middle.
    /// - `sync_state` is the last pass over the sync server, `sync_refusal` the rows of the server that were not taken
    ///   then.
    static let decisions = Migration(
        name: "decisions",
        sql: """
            CREATE TABLE claim (
                id TEXT PRIMARY KEY,                      -- the notification's id
                claimant TEXT NOT NULL,
                claimedAt INTEGER NOT NULL                -- ms UTC
            ) WITHOUT ROWID, STRICT;

            CREATE TABLE sync_state (
                only INTEGER PRIMARY KEY CHECK (only = 1),
                passedAt INTEGER NOT NULL,                -- end of the last pass, ms UTC
                trouble TEXT,                             -- why it stopped, in words
                refused INTEGER NOT NULL                  -- rows of the server that were not taken
            ) STRICT;
            CREATE TABLE sync_refusal (                   -- the first of them, with their reasons
                entity TEXT NOT NULL,
                id TEXT NOT NULL,
                reason TEXT NOT NULL,
                PRIMARY KEY (entity, id)
            ) WITHOUT ROWID, STRICT;
            """)
}
