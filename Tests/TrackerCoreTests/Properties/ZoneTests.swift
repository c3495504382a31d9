import Foundation
import Support
import Testing

@testable import TrackerCore

/// Days in every zone of the database, 2020–2035.
@Suite struct ZoneTests {
    private static let first = LocalDay(daysSince1970: 18_259)  // 2019-12-29
    private static let last = LocalDay(daysSince1970: 24_110)  // 2036-01-05

    /// Zones with equal clocks in these years share a representative.
    private static func distinct() throws -> [(zone: Zone, names: [String], starts: [String: String])] {
        var groups: [[Int64]: (Zone, [String], [String: String])] = [:]
        var unknown = 0
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Data/zone-days.txt")
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ").map(String.init)
            try #require(words.count == 3, "\(line)")
            guard let zone = try? Zone(words[0]) else {
                unknown += 1
                continue
            }
            let from = Int64(first.daysSince1970 - 2) * 86_400
            var signature: [Int64] = []
            for (start, offset) in zip(zone.starts, zone.offsets) {
                if start <= from { signature = [] }
                signature += [max(start, from), offset]
            }
            groups[signature, default: (zone, [], [:])].1.append(zone.id)
            groups[signature]?.2[zone.id] = words[1] + " " + words[2]
        }
        #expect(unknown <= 5, "an older Foundation lacks only a few zones")
        return groups.values.map { ($0.0, $0.1, $0.2) }
    }

    /// The starts of all days with boundaries 0 and 4, against Python's zoneinfo (`Data/zone-days.py`), zone by zone. A
    /// newer time zone database can change a few zones; wrong arithmetic changes most.
    @Test func `days start at the instants that Python's zoneinfo computes`() throws {
        var differing: [String] = []
        var count = 0
        for (zone, names, expected) in try Self.distinct() {
            let digests = [0, 4].map { boundary in
                let calendar = DayCalendar(zone: zone, boundaryHour: boundary)
                var digest: UInt64 = 0xCBF2_9CE4_8422_2325
                for day in Self.first.daysSince1970...Self.last.daysSince1970 {
                    digest =
                        (digest ^ UInt64(bitPattern: calendar.start(of: LocalDay(daysSince1970: day)).wholeSeconds))
                        &* 0x100_0000_01B3
                }
                return String(digest)
            }.joined(separator: " ")
            differing += names.filter { expected[$0] != digests }
            count += names.count
        }
        print("zones equal to Python's zoneinfo: \(count - differing.count) of \(count)")
        #expect(differing.count <= count / 50, "these zones differ: \(differing.sorted().joined(separator: ", "))")
    }

    /// Every instant belongs to the one day that has started and whose successor has not.
    @Test func `every instant belongs to exactly one day`() throws {
        let seed: UInt64 = 2026
        print("days in all zones: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for (zone, names, _) in try Self.distinct() {
            for boundary in [0, 4] {
                let calendar = DayCalendar(zone: zone, boundaryHour: boundary)
                var start = calendar.start(of: Self.first)
                for number in Self.first.daysSince1970..<Self.last.daysSince1970 {
                    let day = LocalDay(daysSince1970: number)
                    let next = calendar.start(of: day.adding(days: 1))
                    let inside = Instant(
                        milliseconds: Int64.random(in: start.milliseconds..<next.milliseconds, using: &random))
                    let before = Instant(milliseconds: next.milliseconds - 1)
                    let isRight =
                        start < next && calendar.day(of: start) == day && calendar.day(of: inside) == day
                        && calendar.day(of: before) == day
                    if !isRight { Issue.record("\(names[0]), boundary \(boundary): \(day), seed \(seed)") }
                    start = next
                }
            }
        }
    }

    @Test(arguments: 1...40) func `local times convert back to their instants`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let zones = [
            "Europe/Berlin", "Australia/Lord_Howe", "America/Nuuk", "Antarctica/Troll", "Africa/El_Aaiun",
            "Europe/Dublin", "America/Havana",
        ]
        let zone = try Zone(zones[seed % zones.count])
        for _ in 0..<300 {
            // Half of them near a change of clocks.
            let change = zone.starts.dropFirst().randomElement(using: &random) ?? 0
            let seconds =
                Bool.random(using: &random)
                ? change + Int64.random(in: -10_000...10_000, using: &random)
                : Int64.random(in: 0...4_000_000_000, using: &random)
            let instant = Instant(seconds: seconds)
            let wall = zone.wall(at: instant)
            switch zone.moments(of: wall) {
            case .once(let found): #expect(found == instant, "\(zone.id) \(wall), seed \(seed)")
            case .repeated(let first, let last):
                #expect(first < last && (first == instant || last == instant), "\(zone.id) \(wall), seed \(seed)")
            default: Issue.record("\(zone.id) \(wall) never shows, seed \(seed)")
            }
        }
    }

    @Test func `skipped local times move forward by the gap`() throws {
        let cases = [
            ("Pacific/Apia", "2011-12-30T12:00:00", "2011-12-30T22:00:00", "2011-12-30T10:00:00"),
            ("Antarctica/Troll", "2026-03-29T01:30:00", "2026-03-29T01:30:00", "2026-03-29T01:00:00"),
            ("Australia/Lord_Howe", "2026-10-04T02:10:00", "2026-10-03T15:40:00", "2026-10-03T15:30:00"),
        ]
        for (zone, wall, shifted, transition) in cases {
            let moments = try Zone(zone).moments(of: try #require(WallTime(wall)))
            let skipped = WallMoments.skipped(shifted: try at(shifted), transition: try at(transition))
            #expect(moments == skipped, "\(zone)")
        }
        #expect(
            try Zone("UTC").moments(of: WallTime(year: 2026, month: 2, day: 29, hour: 0, minute: 0, second: 0)) == nil)
    }

    @Test(arguments: ["Mars/Base", "", "europe/berlin", "GMT+2", "UTC+3", "PST", "../etc/passwd", "Europe/Berlin "])
    func `unknown time zones are rejected`(_ id: String) {
        #expect(throws: UnknownZone.self) { try Zone(id) }
        #expect(throws: UnknownZone.self) { try Zone("Europe/Berlin\u{0}" + id) }
    }

    @Test func `time texts survive a round trip`() throws {
        for text in ["2026-02-02T22:21:15Z", "1969-12-31T23:59:59.250Z", "2000-02-29T00:00:00Z"] {
            #expect(Instant(iso: text)?.description == text)
        }
        #expect(Instant(iso: "2026-10-25T02:30:00+02:00") == Instant(iso: "2026-10-25T00:30Z"))
        #expect(Instant(iso: "2026-10-25 02:30:00 +0200") == Instant(iso: "2026-10-25T00:30:00Z"))
        for text in [
            "", "Z", "2026-02-30T00:00:00Z", "2026-02-02T24:00:00Z", "2026-02-02T22:21:15", "2026-02-02", "+0200",
            "2026-02-02T22:21:15.1234Z", "2026-02-02T22:21:15+25:00",
        ] {
            #expect(Instant(iso: text) == nil, "\(text)")
        }
        for days in stride(from: -800_000, through: 800_000, by: 997) {
            #expect(LocalDay(daysSince1970: days).daysSince1970 == days)
        }
        #expect(LocalDay("2026-06-15")?.weekday == 0 && LocalDay("1969-12-28")?.weekday == 6)
        #expect(LocalDay("2026-02-29") == nil && LocalDay("2026-2-2") == nil && LocalDay("2024-02-29") != nil)
    }
}
