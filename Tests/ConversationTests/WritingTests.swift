import Bluetooth
import Captures
import Foundation
import Replay
import Support
import Testing

@Suite struct WritingTests {
    @Test(arguments: EveryPairTests.binary)
    func `a conversation is unchanged after writing and reading`(format: CaptureFormat) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("capture", Conversation.sync.file(format))
        let tshark = try Tshark()

        #expect(try await tshark.complaints(path) == [])
        let theirs = try await tshark.attPDUs(path).map(\.seen.pdu)
        #expect(theirs == Conversation.sync.pdus.map { hex($0.1) })

        let ours = try Observed(path: path)
        #expect(ours.error == nil)
        #expect(ours.drops == [:])
        #expect(ours.pdus.map { hex($0.pdu) } == Conversation.sync.pdus.map { hex($0.1) })
        #expect(ours.pdus.map(\.att.direction) == Conversation.sync.pdus.map(\.0))
        #expect(ours.pdus.allSatisfy { $0.att.connection.peer == Conversation.sync.peer })
        // The time of each PDU in microseconds, which every format keeps.
        let times = Conversation.sync.events.compactMap { event, _, time in
            if case .att = event { time } else { nil as Duration? }
        }
        #expect(ours.pdus.map(\.att.time) == times)
        #expect(ours.events.contains { if case .disconnected(_, reason: 0x13) = $0 { true } else { false } })
    }

    @Test func `tshark reports a damaged conversation`() async throws {
        var damaged = Conversation()
        damaged.pdus = [(.received, bytes("1b 22"))]
        let folder = try TemporaryFolder()
        #expect(try await Tshark().complaints(folder.write("hci", damaged.file(CaptureFormat(.btsnoop, .h4)))) != [])
        var onAir = try Conversation.sync.file(CaptureFormat(.pcap, .linkLayer))
        // The checksum of CONNECT_IND: tshark checks those of advertising packets only (see CRC24Tests).
        onAir[24 + 16 + 4 + 2 + 34] ^= 1
        #expect(try await Tshark().complaints(folder.write("air", onAir)) != [])
    }

    static let rewrites: [(String, CaptureFormat)] = RealCaptures.files.flatMap { path -> [(String, CaptureFormat)] in
        let isAir = path.contains("llphdr")
        let names = isAir ? ["pcap-ll", "pcapng-ll-phdr"] : ["btsnoop-h1", "pcapng-monitor", "pklg-be", "pcapng-h4"]
        return names.compactMap { CaptureFormat(name: $0) }.map { (path, $0) }
    }

    @Test(arguments: rewrites)
    func `a real capture keeps its ATT PDUs when rewritten`(path: String, format: CaptureFormat) async throws {
        let source = try Observed(path: path)
        var file = CaptureFile(path: path)
        var writer = CaptureWriter(format)
        var reassembler = ConversationReassembler()
        try file.forEachPacket { packet, bytes in
            var packet = packet
            let observed = packet
            if packet.direction == nil, let direction = reassembler.direction(of: observed, bytes) {
                packet.direction = direction == .sent ? .sent : .received
            }
            reassembler.receive(observed, bytes) { _, _ in }
            try writer.write(packet, bytes)
        }
        let folder = try TemporaryFolder()
        let copy = try folder.write("copy", writer.takeOutput())
        let rewritten = try Observed(path: copy)
        #expect(rewritten.error == nil)
        #expect(rewritten.seen.map(\.pdu) == source.seen.map(\.pdu))
        let theirs = try await Tshark().attPDUs(copy).map(\.seen.pdu)
        let original = try await Tshark().attPDUs(path).map(\.seen.pdu)
        #expect(theirs == original)
    }

    @Test func `real captures keep their ATT PDUs when converted between HCI and link layer`() async throws {
        for path in RealCaptures.files {
            let source = try Observed(path: path)
            let isAir = source.facts.format?.level == .linkLayer
            for format in isAir
                ? [CaptureFormat(.btsnoop, .h4)]
                : [CaptureFormat(.pcap, .linkLayer), CaptureFormat(.pcapng, .linkLayerWithRadio)]
            {
                let copy = try resynthesised(path, as: format)
                let folder = try TemporaryFolder()
                let written = try folder.write("copy", copy)
                #expect(try Observed(path: written).seen.map(\.pdu) == source.seen.map(\.pdu), "\(path) as \(format)")
                let theirs = try await Tshark().attPDUs(written).map(\.seen.pdu)
                #expect(theirs == source.seen.map(\.pdu), "\(path) as \(format)")
                let malformed = try await Tshark().fields(written, ["frame.number"], filter: "_ws.malformed")
                // tshark guesses the format of vendor values: the capture itself must be valid.
                let before = try await Tshark().fields(path, ["frame.number"], filter: "_ws.malformed")
                #expect(malformed.count <= before.count, "\(path) as \(format): \(malformed)")
            }
        }
    }

    private func resynthesised(_ path: String, as format: CaptureFormat) throws -> [UInt8] {
        var file = CaptureFile(path: path)
        var reassembler = ConversationReassembler()
        var writer = CaptureWriter(format)
        var synthesiser = ConversationSynthesiser(format.level == .hci ? .hci : .linkLayer)
        try file.forEachPacket { packet, bytes in
            let observed = packet
            try reassembler.receive(observed, bytes) { event, pdu in
                try synthesiser.receive(event, pdu, frame: observed.number, time: observed.time) { made, bytes in
                    try writer.write(made, bytes)
                }
            }
        }
        return writer.takeOutput()
    }
}
