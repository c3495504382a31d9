import Bluetooth
import Captures
import Foundation
import Replay
import Support
import Testing

@Suite struct WritingTests {
    @Test(arguments: FormatConversionTests.binary)
    func `a conversation is unchanged after writing and reading`(format: CaptureFormat) throws {
        let folder = try TemporaryFolder()
        let ours = try Observed(path: folder.write("capture", Conversation.sync.file(format)))
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

    /// FormatConversionTests checks every format with tshark, with shorter PDUs.
    @Test(arguments: [CaptureFormat(.btsnoop, .h4), CaptureFormat(.pcap, .linkLayer)])
    func `tshark reads a conversation with fragmented PDUs`(format: CaptureFormat) async throws {
        let folder = try TemporaryFolder()
        let theirs = try await Tshark().read(folder.write("capture", Conversation.sync.file(format)))
        #expect(theirs.complaints == [])
        #expect(theirs.pdus.map(\.seen.pdu) == Conversation.sync.pdus.map { hex($0.1) })
    }

    @Test func `tshark reports a damaged conversation`() async throws {
        var damaged = Conversation()
        damaged.pdus = [(.received, bytes("1b 22"))]
        let folder = try TemporaryFolder()
        let file = try folder.write("hci", damaged.file(CaptureFormat(.btsnoop, .h4)))
        #expect(try await Tshark().read(file).complaints != [])
        var onAir = try Conversation.sync.file(CaptureFormat(.pcap, .linkLayer))
        // The checksum of CONNECT_IND: tshark checks those of advertising packets only (see CRC24Tests).
        onAir[24 + 16 + 4 + 2 + 34] ^= 1
        #expect(try await Tshark().read(folder.write("air", onAir)).complaints != [])
    }

    /// The formats of HCI and of the link layer, to which real captures are rewritten.
    private static func formats(isAir: Bool) -> [CaptureFormat] {
        (isAir ? ["pcap-ll", "pcapng-ll-phdr"] : ["btsnoop-h1", "pcapng-monitor", "pklg-be", "pcapng-h4"]).compactMap {
            CaptureFormat(name: $0)
        }
    }

    @Test(arguments: zip(RealCaptures.files.indices, RealCaptures.files))
    func `a real capture keeps its ATT PDUs when rewritten`(index: Int, path: String) async throws {
        let source = try Observed(path: path)
        let formats = Self.formats(isAir: path.contains("llphdr"))
        let folder = try TemporaryFolder()
        for format in formats {
            let rewritten = try Observed(path: folder.write("\(format)", rewritten(path, as: format)))
            #expect(rewritten.error == nil)
            #expect(rewritten.seen.map(\.pdu) == source.seen.map(\.pdu), "\(format)")
        }
        // tshark reads each capture in one of the formats.
        let format = formats[index % formats.count]
        let theirs = try await Tshark().read(folder.file("\(format)"))
        let original = try await RealCaptures.reading(path)
        #expect(theirs.pdus.map(\.seen.pdu) == original.pdus.map(\.seen.pdu), "\(format)")
    }

    private func rewritten(_ path: String, as format: CaptureFormat) throws -> [UInt8] {
        var file = CaptureFile(path: path)
        var writer = CaptureWriter(format)
        try file.forEachPacket { packet, bytes in try writer.write(packet, bytes) }
        return writer.takeOutput()
    }

    @Test(arguments: zip(RealCaptures.files.indices, RealCaptures.files))
    func `a real capture keeps its ATT PDUs when converted between HCI and link layer`(
        index: Int, path: String
    ) async throws {
        let source = try Observed(path: path)
        let format =
            if source.info.format?.layer == .linkLayer {
                CaptureFormat(.btsnoop, .h4)
            } else if index % 2 == 0 {
                CaptureFormat(.pcap, .linkLayer)
            } else {
                CaptureFormat(.pcapng, .linkLayerWithRadio)
            }
        let folder = try TemporaryFolder()
        let copy = try folder.write("copy", FormatConversionTests.convert(path, to: format))
        #expect(try Observed(path: copy).seen.map(\.pdu) == source.seen.map(\.pdu), "\(format)")
        let theirs = try await Tshark().read(copy)
        #expect(theirs.pdus.map(\.seen.pdu) == source.seen.map(\.pdu), "\(format)")
        // tshark guesses the format of vendor values: the capture itself must be valid.
        let original = try await RealCaptures.reading(path)
        #expect(theirs.malformedCount <= original.malformedCount, "\(format): \(theirs.complaints)")
    }
}
