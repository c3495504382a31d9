extension Schema {
    /// Which bottles are this store's own. Those that were known before this step are; from here on a bottle has to
    /// answer first, and one whose records came from a recording is known and not its own.
    static let ownBottles = Migration(
        name: "ownBottles",
        sql: """
            ALTER TABLE bottle ADD COLUMN isOwn INTEGER NOT NULL DEFAULT 0;
            UPDATE bottle SET isOwn = 1;
            """)
}
