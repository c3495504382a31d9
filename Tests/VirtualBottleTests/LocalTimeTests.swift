import BottleProtocol
import Testing
@testable import Emulator

@Suite struct LocalTimeTests {
    @Test func `every day from 2000 to 2255 is converted and back`() {
        var expected = (year: 2000, month: 1, day: 1)
        for number in 0..<93_500 {
            let date = LocalTime.date(day: number)
            #expect(date == expected)
            #expect(LocalTime.days(year: date.year, month: date.month, day: date.day) == number)
            let next = BottleClock(
                yearByte: UInt8(date.year - 2000), month: UInt8(date.month), day: UInt8(date.day + 1), hour: 0,
                minute: 0, second: 0)
            expected =
                next.isPossible
                ? (date.year, date.month, date.day + 1)
                : date.month < 12 ? (date.year, date.month + 1, 1) : (date.year + 1, 1, 1)
        }
    }

    @Test(
        arguments: [
            (0, "2000-01-01T00:00:00"), (825_459_675_999, "2026-02-26T22:21:15"), (-1, "2255-12-31T23:59:59"),
        ])
    func `known instants are converted`(_ milliseconds: Int64, _ text: String) {
        let clock = LocalTime(milliseconds: milliseconds).clock
        #expect(clock.description == text)
        if milliseconds >= 0 { #expect(LocalTime(clock)?.milliseconds == milliseconds / 1000 * 1000) }
    }
}
