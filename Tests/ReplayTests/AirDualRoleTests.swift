import Bluetooth
import Captures
import Replay
import Support
import Testing

/// Sniffer captures without direction flags of two devices that are both GATT servers with the same handles.
@Suite struct AirDualRoleTests {
    private typealias PDU = (isFromCentral: Bool, pdu: [UInt8])

    /// The phone discovers the bottle and the bottle discovers the phone. Then the log is interleaved with
    /// notifications of the phone from the same handle.
    private static func session(_ records: [[UInt8]], _ random: inout SeededGenerator) -> [PDU] {
        var values: [PDU] = [(true, [0x02, 0x05, 0x02]), (false, [0x03, 0x05, 0x02])]
        let bottle: [PDU] = [
            (true, [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28]),
            (false, [0x09, 0x07, 0x02, 0x00, 0x04, 0x03, 0x00, 0xE9, 0xFF, 0x05, 0x00, 0x10, 0x06, 0x00, 0xE4, 0xFF]),
            (true, [0x12, 0x07, 0x00, 0x01, 0x00]), (false, [0x13]),
        ]
        let phone: [PDU] = [
            (false, [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28]),
            (true, [0x09, 0x07, 0x05, 0x00, 0x10, 0x06, 0x00, 0x37, 0x2A]),
            (false, [0x12, 0x07, 0x00, 0x01, 0x00]), (true, [0x13]),
        ]
        values += Bool.random(using: &random) ? bottle + phone : phone + bottle
        values.append((true, [0x52, 0x03, 0x00, 0x47, 0x54, 0x00, 0x01, 0x06]))
        values.append((false, [0x1B, 0x06, 0x00, 0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x01]))
        var log = Conversation.log(records).map { [0x1B, 0x06, 0x00] + $0 }[...]
        while !log.isEmpty || Int.random(in: 0..<3, using: &random) > 0 {
            if !log.isEmpty, Bool.random(using: &random) {
                values.append((false, log.removeFirst()))
            } else {
                values.append((true, [0x1B, 0x06, 0x00, 0x00, UInt8.random(in: 50...150, using: &random)]))
            }
        }
        return values
    }

    /// Conditions of link and sniffer, in addition to one damaged packet and one retransmission.
    static let qualities: [AirSniff.Quality] = [
        .init(), .init(refused: 0.02), .init(hasBeginning: false), .init(refused: 0.02, longest: 27),
        // A sniffer or a filter that drops empty packets.
        .init(keepsEmpty: false), .init(longest: 27, hasBeginning: false, keepsEmpty: false),
    ]

    @Test(arguments: [AirSniff.LinkType.plain, .radio], qualities)
    func `directions are correct after a damaged packet and a retransmission`(
        type: AirSniff.LinkType, quality: AirSniff.Quality
    ) throws {
        for seed in UInt64(1)...8 {
            var random = SeededGenerator(seed: seed), quality = quality
            let records = (0..<12).map { record(400 + $0 * 7, Int.random(in: 20...400, using: &random)) }
            let session = Self.session(records, &random)
            // Without CONNECT_IND, CRCInit follows from the first packets.
            let damaged = Int.random(in: 3..<session.count, using: &random)
            quality.damagedAt = [damaged]
            quality.lostAt = [damaged, Int.random(in: 0..<session.count, using: &random)]
            let file = AirSniff(session, quality, seed: seed).pcap(type)
            let wanted = session.map { ($0.isFromCentral ? "> " : "< ") + "\($0.pdu)" }
            let difference = try AirSniffTests.pdus(file).difference(from: wanted)
            #expect(difference.isEmpty, "seed \(seed), damaged \(quality.damagedAt), lost \(quality.lostAt)")
            #expect(
                try AirSniffTests.drinks(file).map { $0[1] } == records.map { Int($0[6]) << 8 | Int($0[7]) },
                "seed \(seed)")
        }
    }
}
