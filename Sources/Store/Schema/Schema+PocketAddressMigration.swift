extension Schema {
    /// Where a notification is shown: it is taken back there, also when the settings name another address by then.
    static let pocketAddresses = Migration(
        name: "pocketAddresses",
        sql: """
            CREATE TABLE pocket_address (
                seq INTEGER PRIMARY KEY REFERENCES pocket_message (seq) ON DELETE CASCADE,
                sentTo TEXT NOT NULL                      -- none: nobody noted it
            ) STRICT;
            """)
}
