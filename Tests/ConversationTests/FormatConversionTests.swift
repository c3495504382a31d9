import Bluetooth
import Captures
import Foundation
import Replay
import Support
import Testing

/// Converts every format to every other one and checks with tshark: no malformed packet, and the ATT PDUs of the
/// source.
///
/// Most sources of one target give the same bytes, so tshark reads each distinct file once.
@Suite struct FormatConversionTests {
    /// The named formats, and the second byte order where a container has two.
    static let formats =
        CaptureFormat.named.map(\.format) + [
            CaptureFormat(.pcap, .h4WithDirection, isBigEndian: true),
            CaptureFormat(.pcapng, .monitor, isBigEndian: true),
            CaptureFormat(.pcap, .linkLayerWithRadio, isBigEndian: true),
            CaptureFormat(.pcapng, .linkLayer, isBigEndian: true),
        ]
    static let binary = formats.filter { $0.layer != .text }
    static let text = formats.filter { $0.layer == .text }

    private final class Session: Sendable {
        struct Source: Sendable {
            let format: CaptureFormat
            let path: String
            /// All PDUs, and those in the file itself: a text omits the discovery.
            let all: [String]
            let held: [String]
            let directions: [TrafficDirection?]
            let values: [String]
        }
        let sources: [Source]
        private let folder: TemporaryFolder

        init(_ capture: String) throws {
            let folder = try TemporaryFolder()
            sources = try formats.enumerated().map { index, format in
                let path = try folder.write(
                    "source-\(index)", convert("\(Program.repository)/captures/\(capture)", to: format))
                let observed = try Observed(path: path)
                return Source(
                    format: format, path: path, all: observed.pdus.map { hex($0.pdu) }, held: observed.seen.map(\.pdu),
                    directions: observed.pdus.map(\.att.direction), values: values(observed))
            }
            self.folder = folder
        }

        /// Each distinct output file with the sources that gave it.
        func rewritten(as format: CaptureFormat) throws -> [[UInt8]: [Source]] {
            try Dictionary(grouping: sources) { try convert($0.path, to: format) }
        }
    }
    private static let session = Result { try Session("boost_two-days.btsnoop") }

    static func convert(_ path: String, to format: CaptureFormat) throws -> [UInt8] {
        var converter = CaptureConverter(to: format)
        var bytes: [UInt8] = []
        try converter.convert([path]) { bytes += $0 }
        return bytes
    }

    @Test func `a capture has the same PDUs and values in every format`() throws {
        let sources = try Self.session.get().sources
        #expect(sources.count == 21)
        let held = Set(sources.filter { $0.format.layer != .text }.map(\.held))
        #expect(held.count == 1 && held.first?.count == 113)
        #expect(Set(sources.map(\.values)).count == 1)
    }

    @Test(arguments: binary)
    func `a converted capture has the PDUs of the source in tshark`(target: CaptureFormat) async throws {
        let tshark = try Tshark()
        let folder = try TemporaryFolder()
        let keepsDirections = target.linkType != .h4 || target.container == .btsnoop
        for (index, (bytes, sources)) in try Self.session.get().rewritten(as: target).enumerated() {
            let path = try folder.write("made-\(index)", bytes)
            let names = "\(sources.map(\.format)) as \(target)"
            let reading = try await tshark.read(path), theirs = reading.pdus
            #expect(reading.complaints == [], "\(names)")
            let ours = try Observed(path: path)
            #expect(ours.error == nil)
            #expect(theirs.map(\.seen) == ours.seen, "\(names)")
            for source in sources {
                // The reader adds the discovery that a text omits, and the writer writes it.
                #expect(theirs.map(\.seen.pdu) == source.all, "\(source.format) as \(target)")
                if keepsDirections {
                    #expect(ours.pdus.map(\.att.direction) == source.directions, "\(source.format) as \(target)")
                }
            }
        }
    }

    /// tshark reads no text formats, so our reader reads the output.
    @Test(arguments: text)
    func `a capture converted to text has the values of the source`(target: CaptureFormat) throws {
        let folder = try TemporaryFolder()
        for (index, (bytes, sources)) in try Self.session.get().rewritten(as: target).enumerated() {
            let ours = try Observed(path: folder.write("made-\(index)", bytes))
            #expect(ours.error == nil)
            for source in sources { #expect(Self.values(ours) == source.values, "\(source.format) as \(target)") }
        }
    }

    /// Opcode and value of writes, notifications, indications and reads.
    private static func values(_ observed: Observed) -> [String] {
        observed.pdus.filter { !$0.att.isSynthetic }.compactMap { _, pdu in
            switch pdu.first {
            case 0x12, 0x52, 0x1B, 0x1D: hex([pdu[0]] + pdu.dropFirst(3))
            case 0x0B: hex(pdu)
            default: nil
            }
        }
    }
}
