import Foundation
import Replay
import Testing

@Suite struct ExpectationTests {
    static let text = """
        {"capture":{"packets":3,"drinks":2}}
        {"command":{"frame":1,"hex":"4754000106"}}
        {"drink":{"at":"2026-02-02T10:00:00","amountMl":200,"raw":"1a","duplicate":false}}
        {"drink":{"at":"2026-02-02T11:00:00","amountMl":150,"raw":"1b","duplicate":false}}

        """

    @Test func `equal results have no difference`() throws {
        let reading = try CaptureReading(expectation: Self.text)
        #expect(reading.drinks.count == 2)
        #expect(ReadingComparison().differences(reading, reading).isEmpty)
    }

    @Test(arguments: [
        (
            "\"amountMl\":200", "\"amountMl\":201",
            "drink 1 (2026-02-02T10:00:00, 200 ml): amountMl is 201, expected 200"
        ),
        (
            "\"hex\":\"4754000106\"", "\"hex\":\"47540001ff\"",
            "command 1 (frame 1): hex is 47540001ff, expected 4754000106"
        ),
        ("\"packets\":3", "\"packets\":4", "capture: packets is 4, expected 3"),
    ])
    func `a value that differs from the expected one is reported`(old: String, new: String, sentence: String) throws {
        let expected = try CaptureReading(expectation: Self.text)
        let found = try CaptureReading(expectation: Self.text.replacingOccurrences(of: old, with: new))
        #expect(ReadingComparison().differences(expected, found) == [sentence])
    }

    @Test func `missing and additional drinks are reported`() throws {
        let whole = try CaptureReading(expectation: Self.text)
        var fewer = whole
        fewer.drinks.removeFirst()
        #expect(
            ReadingComparison().differences(whole, fewer) == [
                "drink 1 (2026-02-02T10:00:00, 200 ml): expected, but not found"
            ])
        #expect(
            ReadingComparison().differences(fewer, whole) == [
                "drink 1 (2026-02-02T10:00:00, 200 ml): found, but not expected"
            ])
    }

    @Test func `an expectation can omit keys`() throws {
        let whole = try CaptureReading(expectation: Self.text)
        let short = try CaptureReading(
            expectation: """
                {"command":{"hex":"4754000106"}}
                {"drink":{"amountMl":200}}
                {"drink":{"amountMl":150}}
                """)
        #expect(ReadingComparison().differences(short, whole).isEmpty)
    }

    @Test(arguments: ["{\"drink\":{}", "nothing", "{\"sip\":{\"amountMl\":1}}", "[1]", "{\"drink\":[]}"])
    func `an invalid line of an expectation file is rejected with its number`(line: String) {
        let error = #expect(throws: ExpectationError.self) { try CaptureReading(expectation: Self.text + line + "\n") }
        #expect(error?.line == 5)
    }
}
