import Testing
import TrackerCore

@Suite struct StoreJournalTests {
    /// At 02:00 it is still the previous day; a record that is not a drink counts on no day.
    @Test func `a day's total is the sum of its drinks`() throws {
        let journal = try StoreJournal(zone: "Europe/Berlin")
        let calendar = DayCalendar(zone: try Zone("Europe/Berlin"))
        func entry(day: UInt8, hour: UInt8, ml: Int, isDrink: Bool = true) throws -> JournalEntry {
            let wall = WallTime(year: 2026, month: 6, day: Int(day), hour: Int(hour), minute: 5, second: 0)
            let at = Instant(seconds: 1_781_474_400 + (Int64(day) - 15) * 86_400 + Int64(hour) * 3600 + 300)
            return JournalEntry(
                bottle: "A4:C1:38:00:00:01",
                raw: [0x1A, 6, day, hour, 5, 0, 0, UInt8(ml), 0, 0, 0, 0x61, isDrink ? 0 : 1], wall: wall, amountMl: ml,
                received: at,
                verdict: isDrink ? .drink(at: at, zone: "Europe/Berlin") : .notADrink(reason: "flag"))
        }
        _ = try journal.append([
            entry(day: 15, hour: 8, ml: 120), entry(day: 15, hour: 23, ml: 80), entry(day: 16, hour: 2, ml: 50),
            entry(day: 16, hour: 9, ml: 200), entry(day: 16, hour: 10, ml: 99, isDrink: false),
        ])
        let days = try ["2026-06-14", "2026-06-15", "2026-06-16", "2026-06-17"].map { try #require(LocalDay($0)) }
        #expect(days.map { journal.total(on: $0, in: calendar) } == [0, 250, 200, 0])
        #expect(
            days.map { day in
                journal.entries.reduce(0) { sum, entry in
                    if case .drink(let at, _) = entry.verdict, calendar.day(of: at) == day {
                        sum + entry.amountMl
                    } else {
                        sum
                    }
                }
            } == [0, 250, 200, 0])
    }
}
