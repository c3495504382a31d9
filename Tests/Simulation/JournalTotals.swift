import TrackerCore

/// Totals as a fold over the journal (invariant 3).
enum JournalTotals {
    static func days(_ entries: [JournalEntry], _ calendar: DayCalendar) -> [LocalDay: Int] {
        var days: [LocalDay: Int] = [:]
        for entry in entries {
            if case .drink(let instant, _) = entry.verdict {
                days[calendar.day(of: instant), default: 0] += entry.amountMl
            }
        }
        return days
    }
}
