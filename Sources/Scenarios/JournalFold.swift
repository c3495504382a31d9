import TrackerCore

/// Totals as a fold over the journal (promise 3).
enum JournalFold {
    static func total(_ entries: [JournalEntry]) -> Int {
        entries.reduce(0) { sum, entry in if case .drink = entry.verdict { sum + entry.amountMl } else { sum } }
    }

    static func days(_ entries: [JournalEntry], _ calendar: DayCalendar) -> [LocalDay: Int] {
        var days: [LocalDay: Int] = [:]
        for entry in entries {
            if case .drink(let instant, _) = entry.verdict { days[calendar.day(of: instant), default: 0] += entry.amountMl }
        }
        return days
    }
}
