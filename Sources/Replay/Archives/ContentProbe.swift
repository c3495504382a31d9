import Bluetooth
import Captures

/// The kind of a file or archive member, recognised by its first bytes.
enum ContentProbe: Equatable {
    /// A capture, with the number of packets in the examined bytes.
    case capture(packets: Int, CaptureOrder)
    case packed(ArchiveKind)
    /// A capture file with unsupported content, with the error message.
    case unsupported(String)
    /// A text that is not a capture, but can contain a packed log.
    case text
    case other
    case undecided

    /// The number of bytes after which the result is never `undecided`.
    static let longestHead = CaptureReader.longestRecord

    init(_ head: [UInt8], isLast: Bool) {
        if let kind = ArchiveKind(head) {
            self = .packed(kind)
            return
        }
        var probe = CaptureReader()
        var packets = 0, first: Duration?
        var order: CaptureOrder { CaptureOrder(kind: packets > 0 ? probe.info.format : nil, first: first) }
        do {
            _ = try probe.read(head.span.bytes, isLast: isLast || head.count >= Self.longestHead) { packet, _ in
                packets += 1
                if let time = packet.time, time.wholeSeconds >= CaptureOrder.earliest { first = first ?? time }
            }
            self = probe.info.format == nil ? .undecided : .capture(packets: packets, order)
        } catch let error as CaptureError {
            if probe.info.format != nil {
                self = .capture(packets: packets, order)
            } else if error.kind != .unrecognised {
                self = .unsupported(error.sentence)
            } else {
                self = Self.isText(head) ? .text : .other
            }
        } catch {
            self = .other
        }
    }

    /// The sort key; without a time for content that is not a capture.
    var order: CaptureOrder { if case .capture(_, let order) = self { order } else { CaptureOrder() } }

    private static func isText(_ head: [UInt8]) -> Bool {
        !head.isEmpty && !head.prefix(4096).contains { $0 < 0x09 || (0x0E..<0x20).contains($0) && $0 != 0x1B }
    }
}
