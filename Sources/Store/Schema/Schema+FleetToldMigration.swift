extension Schema {
    /// Which drinks a fleet was told, so that a store that is put back can tell of each how it is now; and those that
    /// wait to be told so. They have places in the sequence of all changes, and stand in a list of their own: to others
    /// they are no news.
    static let fleetTold = Migration(
        name: "fleetTold",
        sql: """
            ALTER TABLE outlet ADD COLUMN peer TEXT;      -- a fingerprint of whom it tells; NULL: nobody yet since it \
            was opened
            ALTER TABLE drink_sequence ADD COLUMN putBack INTEGER NOT NULL DEFAULT 0; -- the last place that a restore \
            gave: what stands up to there is no news
            CREATE TABLE fleet_told (
                key TEXT PRIMARY KEY,                     -- the drink's
                peer TEXT NOT NULL                        -- whom it was told; empty: nobody noted it
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE fleet_again (
                key TEXT PRIMARY KEY,                     -- the drink's, whether it is still there or not
                seq INTEGER NOT NULL UNIQUE               -- taken from the sequence of drink_change
            ) STRICT, WITHOUT ROWID;
            """)
}
