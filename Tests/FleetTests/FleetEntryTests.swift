import Foundation
import Testing
import TrackerCore

@testable import FleetWire

@Suite("A fleet's entries on the wire")
struct FleetEntryTests {
    static let key = "A4:C1:38:01:02:03|2026-02-02T22:21:15|16"

    static func entry(
        _ place: Int64 = 1, person: String? = "anna", store: String = "s1", key: String = key, ml: Int = 16,
        day: Int = 20_486, isDeleted: Bool = false, changed: Int64 = 1
    ) -> FleetEntry {
        FleetEntry(
            person: person, store: store, place: place, key: key,
            drink: .init(
                at: Instant(milliseconds: Int64(day) * 86_400_000 + 3_600_000), zone: "Europe/Berlin",
                day: LocalDay(daysSince1970: day), ml: ml, isDeleted: isDeleted,
                changed: Instant(milliseconds: changed)))
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        var all = [
            Self.entry(), Self.entry(2, person: nil, key: "k\"\\é|", isDeleted: true),
            FleetEntry(person: "bob", store: "s", place: .max, key: "x", drink: nil),
        ]
        all[2].generation = 7
        all[0].record = .init(raw: "1A020216151500100000016100", received: Instant(milliseconds: 5))
        let lines = try FleetLines(FleetLines.bytes(all))
        #expect(lines.entries == all && lines.poison.isEmpty)
        #expect(all.map(\.bottle) == ["A4:C1:38:01:02:03", nil, nil])
    }

    /// The fleet was told `session|ID`, and so of whom there is an evening.
    @Test func aSessionsWaterIsADrinkLikeAnother() throws {
        #expect(Self.entry(key: "session|087e").key == "087e" && Self.entry(key: "session|").key == "session|")
        // Also where an older gateway tells it.
        let told = try FleetLines.bytes([Self.entry(key: "087e")])
        let older = String(decoding: told, as: UTF8.self).replacing("\"087e\"", with: "\"session|087e\"")
        #expect(older.contains("session|"))
        #expect(try FleetLines(Array(older.utf8)).entries == [Self.entry(key: "087e")])
    }

    /// In the year before the first a drink was stored as of "1 BC", and stood on no day.
    @Test func aDayOfAYearThatNoDatabaseHasIsToldInWords() throws {
        for (day, at) in [
            ("0000-12-31", Instant.storable.lowerBound), ("0000-01-01", Instant.storable.lowerBound),
            ("10000-01-01", Instant.storable.upperBound),
        ] {
            let text = String(decoding: try FleetLines.bytes([Self.entry()]), as: UTF8.self).replacing(
                /"at":[0-9]+/, with: "\"at\":\(at.milliseconds)"
            ).replacing("\"2026-02-02\"", with: "\"\(day)\"")
            let lines = try FleetLines(Array(text.utf8))
            #expect(
                lines.entries.isEmpty && lines.poison.count == 1 && lines.poison[0].reason.contains("day"),
                "\(day): \(lines)")
            if day.hasPrefix("0000") {
                #expect(
                    lines.poison.first?.reason == "the day \(day) is outside of the years that can be stored, 1 to 9999"
                )
            }
        }
        let first = String(decoding: try FleetLines.bytes([Self.entry()]), as: UTF8.self).replacing(
            /"at":[0-9]+/, with: "\"at\":\(Instant.storable.lowerBound.milliseconds)"
        ).replacing("\"2026-02-02\"", with: "\"0001-01-01\"")
        #expect(try FleetLines(Array(first.utf8)).entries.count == 1)
    }

    @Test func aLineThatIsCutIsPoisonAndNothingElse() throws {
        let whole = try FleetLines.bytes([Self.entry()])
        for end in 1..<(whole.count - 1) {
            let lines = try FleetLines(Array(whole[..<end]))
            #expect(lines.entries.isEmpty && lines.poison.count == 1, "cut at \(end)")
        }
    }

    @Test(arguments: [
        (#""version":1"#, #""version":0"#, "there is no version 0"), (#""ml":16"#, #""ml":-1"#, "no drink"),
        (#""ml":16"#, #""ml":"x""#, "ml is of another type"),
        (#""zone":"Europe/Berlin""#, #""zone":"Mars/Olympus""#, "no time zone"),
        (#""day":"2026-02-02""#, #""day":"2027-02-02""#, "not that of its moment"),
        (#""place":1"#, #""place":0"#, "places begin at 1"),
        (#""person":"anna""#, #""person":"a\u0000b""#, "printable"), (#""store":"s1","#, "", "store is missing"),
        (#""version":1"#, #""version":1,"raw":"zz","received":1"#, "raw is not"),
        (#""changed":1"#, #""changed":9223372036854775807"#, "outside of the years"),
        (#""place":1"#, #""place":1,"generation":-1"#, "no generation -1"),
    ])
    func whatIsNoEntryIsSetAside(part: String, other: String, reason: String) throws {
        let text = String(decoding: try FleetLines.bytes([Self.entry()]), as: UTF8.self)
        #expect(text.contains(part), "\(text)")
        let lines = try FleetLines(Array(text.replacing(part, with: other).utf8) + FleetLines.bytes([Self.entry(7)]))
        #expect(lines.entries.map(\.place) == [7] && lines.poison.count == 1)
        #expect(lines.poison.first?.reason.contains(reason) == true, "\(lines.poison)")
    }

    @Test func aNewerVersionIsRefusedAsAWhole() throws {
        let text = String(decoding: try FleetLines.bytes([Self.entry(), Self.entry(2)]), as: UTF8.self)
        #expect(throws: FleetEntry.Newer(version: 2)) {
            try FleetLines(
                Array(
                    text.replacing(#""place":2,"store":"s1","version":1"#, with: "")
                        .replacing(#""version":1"#, with: #""version":2"#).utf8))
        }
    }

    /// One whose lines are longer than ours was set aside with its first 2,000 characters, behind a 200.
    @Test func aNewerVersionIsRefusedHoweverLongItsLinesAre() throws {
        let text = String(decoding: try FleetLines.bytes([Self.entry()]), as: UTF8.self).replacing(
            #""version":1"#, with: #""note":"\#(String(repeating: "x", count: 5000))","version":2"#)
        #expect(throws: FleetEntry.Newer(version: 2)) { try FleetLines(Array(text.utf8)) }
        #expect(throws: FleetEntry.Newer(version: 2)) { try FleetLines.doubts(Array(text.utf8)) }
        #expect(try FleetLines(Array(text.replacing(#""version":2"#, with: #""version":1"#).utf8)).poison.count == 1)
    }

    @Test(arguments: [
        (#"{"taken":1,"known":2,"parked":0}"#, 3, true),
        (#"{"taken":1,"known":2,"parked":0,"asksFor":["doubts"]}"#, 3, true),
        (#"{"taken":1,"known":1,"parked":0}"#, 3, false),
        (#"{"taken":4,"known":-1,"parked":0}"#, 3, false), ("{}", 0, false), ("", 1, false),
        ("<html>Down for maintenance</html>", 1, false),
        (#"{"taken":9223372036854775807,"known":9223372036854775807,"parked":3}"#, 1, false),
        (#"{"taken":0,"known":0,"parked":0}"#, 0, true), ("[1,0,0]", 1, false),
        (#"{"taken":"1","known":0,"parked":0}"#, 1, false),
    ]) func onlyAFleetSaysThatItHasABatch(body: String, lines: Int, has: Bool) {
        #expect(FleetAnswer.has(lines, in: Array(body.utf8)) == has)
    }

    @Test(arguments: [
        ("{}", true), (#"{"doubts":2}"#, true), ("[]", false), ("\"ok\"", false), (#"{"error":"log in first"}"#, false),
        ("<html></html>", false), ("", false), (#"{"doubts":"2"}"#, false),
    ])
    func onlyAFleetSaysThatItHasDoubts(body: String, has: Bool) {
        #expect(FleetAnswer.hasDoubts(in: Array(body.utf8)) == has)
    }

    @Test func limitsHold() throws {
        let line = Array("{}\n".utf8)
        #expect(
            try FleetLines(Array(repeating: line, count: FleetLines.entryLimit).flatMap(\.self)).poison.count
                == FleetLines.entryLimit)
        #expect(throws: FleetLines.TooMany()) {
            try FleetLines(Array(repeating: line, count: FleetLines.entryLimit + 1).flatMap(\.self))
        }
        let long = try FleetLines(Array(repeating: 0xFF, count: FleetEntry.lineLimit + 1))
        #expect(long.poison.first.map { $0.line.unicodeScalars.count <= 2000 && $0.reason.contains("at most") } == true)
    }

    /// Each line read the table of its zone anew where there were more than 64 zones: 2,400 lines took 23 s, in which
    /// the server answered nobody.
    @Test func aBatchFromAllOverTheWorldIsReadAtOnce() throws {
        let zones = TimeZone.knownTimeZoneIdentifiers.filter { Zone.isKnown($0) }
        #expect(zones.count > 300 && !["Europe/Nowhere", "PDT", "GMT+2", "../UTC"].contains(where: Zone.isKnown))
        let entries = (0..<2400).map { number in
            var entry = FleetEntryTests.entry(Int64(number + 1))
            entry.drink?.zone = zones[number % zones.count]
            return entry
        }
        let body = try FleetLines.bytes(entries)
        let before = clock()
        #expect(try FleetLines(body).entries == entries)
        #expect(Double(clock() - before) / Double(CLOCKS_PER_SEC) < 5)
    }

    @Test func ofOneStoreTheLaterGenerationCountsWhateverThePlace() {
        func at(_ generation: Int, _ place: Int64) -> FleetEntry {
            FleetEntry(person: nil, store: "s", generation: generation, place: place, key: "k", drink: nil)
        }
        #expect(
            at(0, 50).isBehind(at(1, 2)) && !at(1, 2).isBehind(at(0, 50)) && at(1, 1).isBehind(at(1, 2))
                && !at(1, 1).isBehind(at(1, 1)))
        #expect(
            FleetStanding("s1 0 17") == FleetStanding(store: "s1", generation: 0, place: 17)
                && FleetStanding(store: "s1", generation: 3, place: 0).text == "s1 3 0")
        for text in ["", "s1", "s1 -1 2", "s1 1 x", "s1 1 -2", " 1 2", "s1 1 2 3", "s1 2000000001 1"] {
            #expect(FleetStanding(text) == nil, "\(text)")
        }
    }

    @Test func ofWhomALineTellsIsReadAlsoWhereItIsNoJSON() {
        for (line, person) in [
            (#"{"person":"anna"}"#, "anna"), (#"{"ml":1,"person" : "An\"n\u00eb","ml":"#, "An\"n\u{EB}"),
            (#"x "personal":"bob" "person","person":"c"#, nil), (#"{"person":"a\"#, nil), (#"{"person":7}"#, nil),
            (#"{"person":7,"person":"d" x"#, "d"),
            (#"{"person":"a\u0000"}"#, nil), ("", nil), (#""person""#, nil), (#""person":"#, nil),
            (#""person":""#, nil), (#""person":"\x""#, nil),
        ] { #expect(FleetLines.person(in: Array(line.utf8)[...]) == person, "\(line)") }
    }

    @Test func aDoubtIsReadAsItWasWrittenAndALineThatIsNoneRefusesAll() throws {
        let doubt = FleetDoubt(
            bottle: "A4:C1:38:01:02:03", raw: "1A020216151500100000016100", wall: nil, ml: 16, reason: "hostClock",
            received: Instant(milliseconds: 5))
        var other = doubt
        other.wall = "2026-02-02T22:21:15"
        let bytes = try FleetLines.bytes([doubt, other])
        #expect(try FleetLines.doubts(bytes + Array("\r\n\n".utf8)) == [doubt, other] && FleetLines.doubts([]).isEmpty)
        // What is not named is settled: a line that was cut settled what it meant, and all others.
        #expect(throws: FleetLines.NoDoubt(line: 4, reason: "it is no JSON")) {
            try FleetLines.doubts(bytes + Array("\n{\"version\":1,\"verd\n".utf8))
        }
        #expect(throws: FleetLines.NoDoubt(line: 1, reason: "verdict is missing")) {
            try FleetLines.doubts(FleetLines.bytes([Self.entry()]) + bytes)
        }
        #expect(throws: FleetLines.NoDoubt.self) {
            try FleetLines.doubts(bytes + Array(repeating: 65, count: FleetEntry.lineLimit + 1))
        }
        #expect(throws: FleetEntry.Newer(version: 2)) {
            try FleetLines.doubts(
                Array(String(decoding: bytes, as: UTF8.self).replacing(#""version":1"#, with: #""version":2"#).utf8))
        }
    }
}
