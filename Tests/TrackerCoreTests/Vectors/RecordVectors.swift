import BottleProtocol
import Foundation
import Support
import Testing
import TrackerCore

/// A1: records. A2: from record to instant.
@Suite struct RecordVectors {
    static var table: [Vector] { get throws { try records() + instants() } }

    // The same instants on every machine: the core does not read the host's zone. Runs in processes of its own, because
    // Foundation reads TZ once.
    @Test func `a machine in UTC computes the expected dates of records`() async {
        await #expect(processExitsWith: .success) { try RecordVectors.checkInstants(onAMachineIn: "UTC", offset: 0) }
    }

    @Test func `a machine in Asia/Tokyo computes the expected dates of records`() async {
        await #expect(processExitsWith: .success) {
            try RecordVectors.checkInstants(onAMachineIn: "Asia/Tokyo", offset: 9 * 3600)
        }
    }

    private static func checkInstants(onAMachineIn zone: String, offset: Int) throws {
        setenv("TZ", zone, 1)
        tzset()
        #expect(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: 1_780_000_000)) == offset)
        for vector in try instants() { try vector.check() }
    }

    private struct Record: Decodable, Sendable {
        struct Fields: Decodable, Sendable {
            let month: Int, day: Int, hour: Int, minute: Int, second: Int, ml: Int
        }
        let id: String
        let bytes: String
        let strict: Fields?
    }

    /// `BottleProtocolTests` checks the other members of these rows.
    private static func records() throws -> [Vector] {
        try (testVectors("records", in: "protocol.json") as [Record]).map { row in
            Vector(row.id) {
                let bytes = row.bytes.split(separator: " ").compactMap { UInt8($0, radix: 16) }
                #expect((try? DrinkRecord(decoding: bytes, dialect: .strict))?.amountMl == row.strict?.ml)
            }
        }
    }

    private struct RecordTime: Decodable, Identifiable, Sendable {
        let id: String, zone: String, record: String, received: String
        let previousRecord: String?, lastPollWithoutIt: String?
        let instant: String, localTime: String, rule: String?, day: String, counts: Bool
    }

    private static func instants() throws -> [Vector] {
        try Vector.published("recordTimes") { (row: RecordTime) in
            let zone = try Zone(row.zone)
            let fields = try #require(WallTime("2000-" + row.record))
            let resolution = RecordResolver(zone: zone).resolve(
                fields, hasYear: false, received: try at(row.received),
                evidence: .init(
                    previous: try row.previousRecord.map { try at($0) },
                    lastPollWithoutIt: try row.lastPollWithoutIt.map { try at($0) }))
            let expected = try at(row.instant)
            #expect(resolution.instant == expected)
            #expect(resolution.rule.rawValue == row.rule ?? "-")
            #expect(resolution.quarantineReason == (row.counts ? nil : .implausibleTimestamp))
            #expect(zone.wall(at: expected).description.hasSuffix(row.localTime))
            #expect(DayCalendar(zone: zone).day(of: expected).description == row.day)
            #expect(resolution.wall?.description.hasSuffix(row.record) == true)
        }
    }
}
