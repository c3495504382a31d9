extension Schema {
    /// Where an outlet speaks from: a store that was copied is not the one that is known at the other end.
    static let homes = Migration(
        name: "homes", sql: "ALTER TABLE outlet ADD COLUMN home TEXT;  -- machine and file; NULL: it has not spoken yet"
    )
}
