import Bluetooth
import Captures
import Foundation
import Replay
import Support
import Testing

/// Formats without directions or sniffer metadata: a converted capture has the same content.
@Suite struct LossyFormatTests {
    private static func rewrite(_ packets: [(CapturePacket, [UInt8])], as name: String, in folder: TemporaryFolder)
        throws -> String
    {
        let format = try #require(CaptureFormat(name: name))
        var writer = CaptureWriter(format)
        for (packet, bytes) in packets { try writer.write(packet, bytes.span.bytes) }
        return try folder.write("\(UUID().uuidString).\(name)", writer.takeOutput())
    }

    static func packets(_ path: String) throws -> [(CapturePacket, [UInt8])] {
        var packets: [(CapturePacket, [UInt8])] = []
        var file = CaptureFile(path: path)
        try file.forEachPacket { packet, bytes in packets.append((packet, bytes.withUnsafeBytes { [UInt8]($0) })) }
        return packets
    }

    /// A sniffer with the key wrote decrypted packets with their MICs. Link type 251 has no flag for that: without a
    /// marker the output would be read as ciphertext.
    @Test(arguments: [true, false])
    func `decrypted packets stay readable after conversion`(keepsMIC: Bool) throws {
        let folder = try TemporaryFolder()
        let air = try RewritingTests.convert(OverlapTests.source, to: "pcap-ll-phdr", in: folder)
        let expected = try RewritingTests.drinks(air)
        #expect(expected.count == 40)
        var made: [(CapturePacket, [UInt8])] = []
        var isEncrypted = false
        for (packet, bytes) in try Self.packets(air) {
            guard case .linkLayer(var info) = packet.content, bytes.count > 9, bytes[0] != 0xD6 else {
                made.append((packet, bytes))
                continue
            }
            if !isEncrypted {
                // LL_START_ENC_REQ, from the peripheral.
                var request = packet
                request.direction = .received
                made.append((request, Array(bytes.prefix(4)) + [0x07, 1, 0x05, 0, 0, 0]))
                isEncrypted = true
            }
            info.isDecrypted = true
            var packet = packet, bytes = bytes
            packet.content = .linkLayer(info)
            if keepsMIC, bytes[4] & 3 != 3 {
                bytes[5] += 4
                bytes.insert(contentsOf: [0xA1, 0xB2, 0xC3, 0xD4], at: bytes.count - 3)
            }
            made.append((packet, bytes))
        }
        let decrypted = try Self.rewrite(made, as: "pcap-ll-phdr", in: folder)
        #expect(try RewritingTests.drinks(decrypted).count == 40)
        for format in ["pcap-ll", "pcapng-ll", "pcap-ll-phdr", "btsnoop", "hex"] {
            #expect(
                try RewritingTests.drinks(RewritingTests.convert(decrypted, to: format, in: folder)).count == 40,
                "\(format)")
        }
    }

    /// The host's fragments are between the fragments of a log. With directions the assignment is known; link type 187
    /// has none.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func `interleaved fragments of both directions stay separate`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let size = [5, 9, 20, 27].randomElement(using: &random) ?? 9
        // The fragments of a log notification with a command's between them, in random order.
        var made: [(CapturePacket, [UInt8])] = []
        for (packet, bytes) in try Self.packets(OverlapTests.source) {
            guard packet.content == .hci(.acl), packet.direction == .received, bytes.count > 60 else {
                made.append((packet, bytes))
                continue
            }
            let ask: [UInt8] = [
                0x0C, 0, 0x04, 0, 0x52, 0x12, 0, 0x50, 0x54, 0, 4, 3, 5, 7, UInt8.random(in: 0...255, using: &random),
                0,
            ]
            func parts(_ frame: [UInt8], _ start: UInt8) -> [[UInt8]] {
                stride(from: 0, to: frame.count, by: size).map { at in
                    let part = Array(frame[at..<min(frame.count, at + size)])
                    return [bytes[0], bytes[1] & 0x0F | (at == 0 ? start : 1) << 4, UInt8(part.count), 0] + part
                }
            }
            var mine = parts(ask, 0), theirs = parts(Array(bytes.dropFirst(4)), 2)
            while !mine.isEmpty || !theirs.isEmpty {
                let isMine = theirs.isEmpty || !mine.isEmpty && Bool.random(using: &random)
                var part = packet
                part.direction = isMine ? .sent : .received
                made.append((part, isMine ? mine.removeFirst() : theirs.removeFirst()))
            }
        }
        let mingled = try Self.rewrite(made, as: "btsnoop", in: folder)
        let expected = try RewritingTests.drinks(mingled)
        #expect(expected.count == 40)
        for format in ["pcap-h4", "pcapng-h4", "pcap", "pcap-ll"] {
            #expect(
                try RewritingTests.drinks(RewritingTests.convert(mingled, to: format, in: folder)) == expected,
                "\(format), parts of \(size)")
        }
        // Packets without directions, in formats that require them.
        let undirected = try Self.rewrite(made, as: "pcap-h4", in: folder)
        let found = try RewritingTests.drinks(undirected)
        // A lost delivery can be repeated in a later transfer: the same drink at another time.
        func drink(_ line: String) -> String { line.replacing(/"capturedAt":"[^"]*"/, with: "") }
        #expect(
            Set(found.map(drink)).isSubset(of: Set(expected.map(drink))),
            "no drink is found that the original does not have")
        for format in ["btsnoop", "pcapng", "pklg", "pcap-monitor"] {
            #expect(
                try RewritingTests.drinks(RewritingTests.convert(undirected, to: format, in: folder)) == found,
                "\(format), parts of \(size)")
        }
    }
}
