/// What an icon among a desktop's status items shows, and what its menu offers (tracker law Section 10.10).
public struct TrayFace: Hashable, Sendable, Codable {
    /// How far the ring is closed, 0…1.
    public var progress: Double
    /// Of which its colour follows (tracker law B6).
    public var urgency: Urgency
    /// Whether it asks to be looked at: behind by much, while reminders may speak.
    public var needsAttention: Bool
    /// `1.2L / 2.5L`.
    public var title: String
    /// What a pointer over it is told, line by line.
    public var lines: [String]
    /// The menu, from above.
    public var entries: [TrayEntry]

    /// The line that logs a cup.
    public static let cup = 10

    /// `nil` where the settings want none.
    public init?(_ day: TrackerSnapshot, _ settings: Settings) {
        guard settings.tray else { return nil }
        progress = min(max(day.pace.progress, 0), 1)
        urgency = day.pace.displayUrgency
        needsAttention = urgency == .overdue && !day.isQuiet && settings.remindersEnabled
        title = day.litresText
        lines = [day.pace.statusText, day.lastDrinkAge.map { "Last drink \($0)" }].compactMap(\.self)
        entries = Self.entries(day, settings)
    }

    private static func entries(_ day: TrackerSnapshot, _ settings: Settings) -> [TrayEntry] {
        var entries = [TrayEntry(1, day.litresText + " · " + day.pace.statusText), .separator(2)]
        let words = day.units.text(day.cupMl)
        entries.append(TrayEntry(cup, "\(NotificationAction.logCup.label) (\(words))", .ml(day.cupMl)))
        entries += day.quickAddMl.enumerated().map {
            TrayEntry(20 + $0.offset, "+ " + day.units.text($0.element), .ml($0.element))
        }
        if day.waterline != nil {
            // A session is shown while it runs, and in words that fit (US-036).
            let label = { (action: NotificationAction) in action.label(discreet: settings.discreet) }
            entries += [
                .separator(40), TrayEntry(41, label(.logWater), .water), TrayEntry(42, label(.logDrink), .drink),
                TrayEntry(43, label(.endSession), .end),
            ]
        }
        return entries + [
            .separator(50), TrayEntry(51, "Undo", .undo), TrayEntry(52, "Check now", .check),
            TrayEntry(53, NotificationAction.open.label, .open),
        ]
    }
}
