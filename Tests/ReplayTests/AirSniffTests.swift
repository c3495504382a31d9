import Bluetooth
import BottleProtocol
import Captures
import Replay
import Support
import Testing

/// Drinks from sniffer captures without directions, in all conditions: every received drink is found once, and no
/// other.
@Suite struct AirSniffTests {
    static let qualities: [AirSniff.Quality] = {
        var qualities: [AirSniff.Quality] = [
            // Occasional retransmissions or NAKs only.
            .init(lost: 0.02), .init(refused: 0.02),
            .init(missed: 0.05, lost: 0.05, refused: 0.02, hasBeginning: false),
            // Timestamps of a host that polls its sniffer.
            .init(lost: 0.02, grain: 1000),
        ]
        for share: Double in [0, 0.01, 0.05, 0.15] {
            for longest in [27, 251] {
                qualities.append(
                    AirSniff.Quality(
                        missed: share, damaged: share / 2, lost: share, refused: share / 3, longest: longest))
            }
        }
        return qualities
    }()

    /// A retail bottle's session: discovery, then the log twice, in entries of at most 8.
    static func session(_ records: [[UInt8]]) -> (
        values: [(isFromCentral: Bool, pdu: [UInt8])], discovery: Range<Int>, entries: [Int: [[UInt8]]]
    ) {
        var values: [(isFromCentral: Bool, pdu: [UInt8])] = [
            (true, [0x02, 0x05, 0x02]), (false, [0x03, 0x05, 0x02]),
            (true, [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28]),
            (false, [0x09, 0x07, 0x02, 0x00, 0x04, 0x03, 0x00, 0xE9, 0xFF, 0x05, 0x00, 0x10, 0x06, 0x00, 0xE4, 0xFF]),
            (true, [0x12, 0x07, 0x00, 0x01, 0x00]), (false, [0x13]),
        ]
        let discovery = 0..<values.count
        var entries: [Int: [[UInt8]]] = [:]
        for _ in 0..<2 {
            values.append((true, [0x52, 0x03, 0x00, 0x47, 0x54, 0x00, 0x01, 0x06]))
            values.append((false, [0x1B, 0x06, 0x00, 0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x01]))
            var rest = records[...]
            for value in Conversation.log(records) {
                entries[values.count] = Array(rest.prefix(8))
                rest = rest.dropFirst(8)
                values.append((false, [0x1B, 0x06, 0x00] + value))
            }
        }
        return (values, discovery, entries)
    }

    static func drinks(_ file: [UInt8]) throws -> [[Int]] {
        var found: [[Int]] = []
        let reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) {
            found.append([$0.record.hour * 60 + $0.record.minute, $0.record.amountMl])
        }
        let error = try forEachEvent(of: file) { event, pdu in try reader.receive(event, pdu) }
        #expect(error == nil)
        try reader.finishCapture()
        return found
    }

    static func pdus(_ file: [UInt8]) throws -> [String] {
        var found: [String] = []
        let error = try forEachEvent(of: file) { event, pdu in
            guard case .att(let observation) = event else { return }
            found.append((observation.direction == .sent ? "> " : "< ") + pdu.withUnsafeBytes { "\([UInt8]($0))" })
        }
        #expect(error == nil)
        return found
    }

    @Test(arguments: AirSniff.LinkType.allCases, qualities)
    func `every drink that a sniffer receives is found once`(type: AirSniff.LinkType, quality: AirSniff.Quality) throws
    {
        for seed in UInt64(1)...4 {
            var random = SeededGenerator(seed: seed)
            let records = (0..<40).map { record(400 + $0 * 7, Int.random(in: 20...400, using: &random)) }
            let session = Self.session(records)
            let sniff = AirSniff(session.values, quality, seed: seed, keep: session.discovery)
            let heard = Set(
                session.entries.filter { sniff.heard.contains($0.key) }.values.joined().map {
                    [Int($0[3]) * 60 + Int($0[4]), Int($0[6]) << 8 | Int($0[7])]
                })
            let found = try Self.drinks(sniff.pcap(type))
            // With a fifth of all short fragments missing, four in a row can be missing, and the next one still fits.
            let isRough = quality.missed > 0.1 && quality.longest == 27
            let missing = heard.subtracting(found), extra = Set(found).subtracting(heard)
            #expect(
                missing.count <= (isRough ? 8 : 0),
                "seed \(seed): \(missing.count) of \(heard.count) heard drinks are missing")
            #expect(extra.count <= (isRough ? 3 : 0), "seed \(seed): drinks that were not heard whole")
            if !isRough { #expect(Set(found).count == found.count, "seed \(seed): a drink twice") }
        }
    }
}
