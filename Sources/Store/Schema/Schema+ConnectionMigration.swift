extension Schema {
    /// What came of the last attempt to reach a bottle, so that every surface can say it, also in another process.
    static let connection = Migration(
        name: "connection",
        sql: """
            CREATE TABLE connection_state (
                only INTEGER PRIMARY KEY CHECK (only = 1),
                problem TEXT NOT NULL,                    -- `ConnectionProblem.code`; without a problem there is no row
                message TEXT,                             -- what the layer below said
                since INTEGER NOT NULL                    -- when it was first found, ms UTC
            ) STRICT;
            """)
}
