extension Schema {
    /// What stands between an outlet and the other end: whoever looks at the day sees it, too.
    static let outletTroubles = Migration(
        name: "outletTroubles", sql: "ALTER TABLE outlet ADD COLUMN trouble TEXT;  -- in words; NULL: nothing")
}
