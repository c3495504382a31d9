import BottleProtocol
import Foundation
import Testing
import TrackerCore

/// A1: records. A2: from record to instant.
@Suite struct RecordVectors {
    static let table: [Vector] = records + impossible + instants

    @Test(arguments: table) func vector(_ vector: Vector) throws { try vector.check() }

    // The same instants on every machine: the core does not read the host's zone. Runs in processes of its own, because
    // Foundation reads TZ once.
    @Test func `records have the same dates on a machine in UTC`() async {
        await #expect(processExitsWith: .success) { try RecordVectors.checkInstants(onAMachineIn: "UTC", offset: 0) }
    }

    @Test func `records have the same dates on a machine in Asia/Tokyo`() async {
        await #expect(processExitsWith: .success) {
            try RecordVectors.checkInstants(onAMachineIn: "Asia/Tokyo", offset: 9 * 3600)
        }
    }

    private static func checkInstants(onAMachineIn zone: String, offset: Int) throws {
        setenv("TZ", zone, 1)
        tzset()
        #expect(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: 1_780_000_000)) == offset)
        for vector in instants { try vector.check() }
    }

    private static let reference: [UInt8] = [0x1A, 2, 2, 0x16, 0x15, 0x0F, 0, 0x10, 0, 0, 1, 0x61, 0]

    private static let records: [Vector] =
        ([
            ("A1-01", reference, "2/2 22:21:15, 16 ml"),
            ("A1-02", [0x1B] + reference.dropFirst(), nil),
            ("A1-03", Array(reference.prefix(3)), nil),
            ("A1-04", Array(reference.prefix(12)), nil),
            ("A1-05", reference + [0xFF, 0xFF], "2/2 22:21:15, 16 ml"),
            ("A1-06", [0x1A, 2, 3, 0x10, 0, 0, 0, 0x64, 0, 0, 1, 0x61, 0], "2/3 16:0:0, 100 ml"),
            ("A1-07", [0x1A, 2, 3, 0x11, 0, 0, 0, 0xC8, 0, 0, 1, 0x61, 0], "2/3 17:0:0, 200 ml"),
            ("A1-08", [0x1A, 2, 0x1D, 0, 0, 0, 0, 0xFF, 0, 0, 1, 0x61, 0], "2/29 0:0:0, 255 ml"),
            ("A1-09", [0x1A, 2, 2, 0x16, 0x15, 0x0F, 0, 0, 0, 0, 1, 0x61, 0], "2/2 22:21:15, 0 ml"),
            (
                "A1-10", [0x1A, 2, 2, 0x16, 0x15, 0x0F, 1, 0xF4, 0, 0, 1, 0x61, 0],
                "2/2 22:21:15, 244 ml, separatorNotZero"
            ),
            ("A1-11", [0x1A, 0x0D, 2, 0x16, 0x15, 0x0F, 0, 0x10, 0, 0, 1, 0x61, 0], nil),
        ] as [(String, [UInt8], String?)]).map { id, bytes, expected in
            Vector(id) {
                #expect(words(bytes) == expected)
                // The same bytes within longer ones: a slice counts from its own start.
                let slice = ([0x1A, 0x1A] + bytes).dropFirst(2)
                #expect(words(slice) == expected)
            }
        }

    /// A1-12: seven vectors, one per field.
    private static let impossible: [Vector] =
        ([
            ("a", [(1, 0)]), ("b", [(2, 0)]), ("c", [(2, 0x1E)]), ("d", [(1, 4), (2, 0x1F)]),
            ("e", [(3, 0x18)]), ("f", [(4, 0x3C)]), ("g", [(5, 0x3C)]),
        ] as [(String, [(Int, UInt8)])]).map { letter, changes in
            Vector("A1-12\(letter)") {
                var bytes = reference
                for (offset, value) in changes { bytes[offset] = value }
                #expect(words(bytes) == nil)
            }
        }

    /// A row: id, zone, record, receipt (UTC), evidence, instant (UTC), local time, rule, day, and whether it counts.
    private static let instants: [Vector] = """
        A2-01 UTC 02-02T22:21:15 2026-02-02T22:30:00 - 2026-02-02T22:21:15 22:21:15 - 2026-02-02 counts
        A2-02 UTC 12-31T23:50:00 2027-01-01T00:05:00 - 2026-12-31T23:50:00 23:50:00 - 2026-12-31 counts
        A2-03 UTC 01-01T00:01:00 2026-12-31T23:59:00 - 2027-01-01T00:01:00 00:01:00 - 2026-12-31 counts
        A2-04 UTC 02-04T00:30:00 2026-02-02T22:30:00 - 2026-02-04T00:30:00 00:30:00 - 2026-02-03 counts
        A2-05 UTC 02-04T00:30:01 2026-02-02T22:30:00 - 2025-02-04T00:30:01 00:30:01 - 2025-02-03 -
        A2-06 UTC 02-29T10:00:00 2028-02-29T12:00:00 - 2028-02-29T10:00:00 10:00:00 - 2028-02-29 counts
        A2-07 UTC 02-29T10:00:00 2027-03-01T09:00:00 - 2024-02-29T10:00:00 10:00:00 - 2024-02-29 -
        A2-08 berlin 10-25T02:30:00 2026-10-25T00:32:00 poll=00:22 2026-10-25T00:30:00 02:30:00 R1 2026-10-24 counts
        A2-09 berlin 10-25T02:30:00 2026-10-25T01:24:00 poll=01:00 2026-10-25T00:30:00 02:30:00 R1 2026-10-24 counts
        A2-10 berlin 10-25T02:30:00 2026-10-25T01:32:00 poll=01:22 2026-10-25T01:30:00 02:30:00 R3 2026-10-24 counts
        A2-11 berlin 10-25T02:30:00 2026-10-25T06:00:00 prev=00:45 2026-10-25T01:30:00 02:30:00 R2 2026-10-24 counts
        A2-12 berlin 10-25T02:30:00 2026-10-25T06:00:00 prev=00:10 2026-10-25T00:30:00 02:30:00 R4 2026-10-24 counts
        A2-13 berlin 10-25T03:00:00 2026-10-25T06:00:00 - 2026-10-25T02:00:00 03:00:00 - 2026-10-24 counts
        A2-14 newYork 11-01T01:30:00 2026-11-01T12:00:00 - 2026-11-01T05:30:00 01:30:00 R4 2026-10-31 counts
        A2-15 newYork 11-01T01:30:00 2026-11-01T12:00:00 prev=05:50 2026-11-01T06:30:00 01:30:00 R2 2026-10-31 counts
        A2-16 berlin 03-29T02:30:00 2026-03-29T06:00:00 - 2026-03-29T01:30:00 03:30:00 gap 2026-03-28 counts
        A2-17 newYork 03-08T02:30:00 2026-03-08T12:00:00 - 2026-03-08T07:30:00 03:30:00 gap 2026-03-07 counts
        """.split(separator: "\n").map { row in
            let row = row.split(separator: " ").map(String.init)
            let (zone, record, received, evidence, rule, day) = (row[1], row[2], row[3], row[4], row[7], row[8])
            return Vector(row[0]) {
                let zone = try Zone(zones[zone] ?? zone)
                let fields = try #require(WallTime("2000-" + record))
                let words = evidence.split(separator: "=")
                let other = words.count == 2 ? try at("\(received.prefix(11))\(words[1]):00") : nil
                let resolution = RecordResolver(zone: zone).resolve(
                    RecordFields(
                        year: nil, month: fields.month, day: fields.day,
                        hour: fields.hour, minute: fields.minute, second: fields.second),
                    received: try at(received),
                    evidence: .init(
                        previous: words.first == "prev" ? other : nil,
                        lastPollWithoutIt: words.first == "poll" ? other : nil))
                let expected = try at(row[5])
                #expect(resolution.instant == expected)
                #expect(resolution.rule.rawValue == rule)
                #expect(resolution.quarantineReason == (row[9] == "counts" ? nil : .implausibleTimestamp))
                #expect(zone.wall(at: expected).description.hasSuffix(row[6]))
                #expect(DayCalendar(zone: zone).day(of: expected).description == day)
                #expect(resolution.wall?.description.hasSuffix(record) == true)
            }
        }

    private static let zones = ["berlin": "Europe/Berlin", "newYork": "America/New_York"]

    /// Reads a record in the strict dialect; `nil` if the dialect rejects it.
    private static func words(_ bytes: some Collection<UInt8>) -> String? {
        guard let record = try? DrinkRecord(decoding: bytes, dialect: .strict) else { return nil }
        return "\(record.month)/\(record.day) \(record.hour):\(record.minute):\(record.second), \(record.amountMl) ml"
            + (record.separatorNotZero ? ", separatorNotZero" : "")
    }
}
