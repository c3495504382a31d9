extension Schema {
    /// What each bottle's light was last told to show: every writing makes a bottle blink, so it is told only what is
    /// new.
    static let lights = Migration(
        name: "lights", sql: "ALTER TABLE bottle ADD COLUMN light TEXT;  -- NULL: never told anything")
}
