extension Schema {
    /// Which drink a person's correction took the place of: with it a correction travels to another store. Corrections
    /// from before this step have none, and stay what they are.
    static let edits = Migration(
        name: "edits",
        sql: """
            ALTER TABLE drink ADD COLUMN instead TEXT;        -- the key of the drink that was there first
            CREATE INDEX drink_instead ON drink (instead) WHERE instead IS NOT NULL;
            """)
}
