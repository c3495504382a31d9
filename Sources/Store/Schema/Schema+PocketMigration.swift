extension Schema {
    /// What a person is told on a phone, or a program by a webhook: noted before it is sent, so that it survives
    /// whatever happens then, and kept for a while afterwards, so that it is not sent again and can be taken back.
    static let pocket = Migration(
        name: "pocket",
        sql: """
            CREATE TABLE pocket_message (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                outlet TEXT NOT NULL,                     -- ntfy, gotify or webhook
                id TEXT NOT NULL,                         -- the notification's: the same decision has always the same
                place TEXT NOT NULL,                      -- the catalogue's id: what came later takes its place
                announcement TEXT NOT NULL,               -- its words, as JSON
                since INTEGER NOT NULL,                   -- when it was decided
                state TEXT NOT NULL,                      -- waiting, sent, dropped or refused
                remote TEXT,                              -- what the other end calls it
                isShown INTEGER NOT NULL DEFAULT 0,       -- 1: there may be something to take back
                key TEXT NOT NULL,                        -- with which its buttons act, and nothing else
                UNIQUE (outlet, id)
            ) STRICT;
            CREATE INDEX pocket_waiting ON pocket_message (outlet, seq) WHERE state = 'waiting';
            CREATE INDEX pocket_key ON pocket_message (key);
            """)
}
