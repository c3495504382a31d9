extension Schema {
    /// What is shown on phones and nobody owns any more, and for how long it has been tried to take something back: a
    /// machine's clock does not say that, it may be wrong.
    static let takingBack = Migration(
        name: "takingBack",
        sql: """
            CREATE TABLE pocket_leaving (
                address TEXT NOT NULL,                    -- of the topic at which it is shown
                place TEXT NOT NULL,                      -- what it is called there
                token TEXT,                               -- what lets us in; NULL: nothing that is known
                tried INTEGER NOT NULL DEFAULT 0,         -- for how long services have tried, seconds
                PRIMARY KEY (address, place)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE leaving_tried (
                place TEXT NOT NULL,                      -- as in leaving
                id TEXT NOT NULL,
                seconds INTEGER NOT NULL,                 -- for how long services have tried
                PRIMARY KEY (place, id)
            ) STRICT, WITHOUT ROWID;
            """)
}
