/// Why somebody who was away when something was told is not shown it any more, but has it on the list of what was
/// missed (tracker spec C).
package enum MissedReason: String, Hashable, Sendable, CaseIterable, Codable {
    /// A later one of the same catalogue's id was told: it takes the place of this one.
    case replaced
    /// Somebody drank since, or did otherwise what it asks for.
    case answered
    /// What it is about is over: its day, its session, or what it says is so no more.
    case over
    /// Quiet hours have begun, in which it is not told.
    case quietHours
    /// Something urgent went by first, while this one was not let through.
    case overtaken
}
