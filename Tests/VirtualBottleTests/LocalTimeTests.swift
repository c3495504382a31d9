import BottleProtocol
import Testing
@testable import Emulator

@Suite struct LocalTimeTests {
    @Test func `every day from 2000 to 2255 is converted and back`() {
        var expected = BottleClock(yearByte: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0)
        for number in 0..<Int64(93_500) {
            let time = LocalTime(milliseconds: number * 86_400_000)
            #expect(time.clock == expected)
            #expect(LocalTime(expected) == time)
            expected.day += 1
            if !expected.isPossible { (expected.month, expected.day) = (expected.month + 1, 1) }
            if expected.month > 12 { (expected.yearByte, expected.month) = (expected.yearByte + 1, 1) }
        }
    }

    @Test(
        arguments: [(0, "2000-01-01T00:00:00"), (825_459_675_999, "2026-02-26T22:21:15"), (-1, "2255-12-31T23:59:59")])
    func `known local times are converted`(_ milliseconds: Int64, _ text: String) {
        let clock = LocalTime(milliseconds: milliseconds).clock
        #expect(clock.description == text)
        if milliseconds >= 0 { #expect(LocalTime(clock)?.milliseconds == milliseconds / 1000 * 1000) }
    }
}
