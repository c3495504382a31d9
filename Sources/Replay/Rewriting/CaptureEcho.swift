import Bluetooth
import Captures

/// What a rewritten capture says when it is read again, beside what the original says.
///
/// A format that keeps no directions, or no word about decryption, carries the packets and yet loses the conversation.
/// Only reading it back tells.
struct CaptureEcho {
    private var writer: CaptureWriter
    private var reader = CaptureReader()
    private var window: [UInt8] = []
    private let original = Hearing(), copy = Hearing()
    private var sense = DirectionSense()
    /// The format refused something: the rewriting itself says so.
    private var isOver = false

    /// - Parameter first: the first packet of the original. `nil` where the other format keeps everything that tells
    ///   packets apart.
    init?(_ format: CaptureFormat, first: CapturePacket) {
        guard first.content.isTraffic, first.content.level == format.level, format.level != .text else { return nil }
        guard !format.keepsDirection || first.direction == nil || first.time == nil else { return nil }
        writer = CaptureWriter(format)
    }
    mutating func take(_ packet: CapturePacket, _ bytes: RawSpan) {
        guard !isOver else { return }
        original.take(packet, bytes)
        do {
            _ = try writer.write(sense.stating(packet, bytes), bytes)
            window += writer.takeOutput()
            if window.count >= 1 << 16 { try readBack(isLast: false) }
        } catch {
            isOver = true
        }
    }

    /// Whether both say the same, at the end.
    mutating func isFaithful() -> Bool {
        guard !isOver else { return true }
        do { try readBack(isLast: true) } catch { return true }
        return original.digest() == copy.digest()
    }

    private mutating func readBack(isLast: Bool) throws {
        var piece: [UInt8] = []
        swap(&piece, &window)
        piece += writer.takeOutput()
        let read = try reader.read(piece.span.bytes, isLast: isLast) { [copy] packet, bytes in copy.take(packet, bytes)
        }
        piece.removeFirst(read)
        window = piece
    }

    /// The PDUs of a capture, with whose and which way, as one number.
    private final class Hearing {
        private var reassembler = ConversationReassembler.ofBottles()
        private var hasher = Hasher()
        private var count = 0

        func take(_ packet: CapturePacket, _ bytes: RawSpan) {
            reassembler.receive(ObservedPacket(packet), bytes) { event, pdu in
                guard case .att(let observation) = event else { return }
                count += 1
                hasher.combine(observation.connection.handle)
                hasher.combine(observation.connection.peer)
                hasher.combine(observation.direction)
                hasher.combine(observation.bearer)
                pdu.withUnsafeBytes { hasher.combine(bytes: $0) }
            }
        }

        func digest() -> [Int] { [count, hasher.finalize()] }
    }
}

/// Which way the HCI packets of a capture went that does not say it (pcap link type 187), for formats that must.
struct DirectionSense {
    private var reassembler = ConversationReassembler.ofBottles()

    mutating func stating(_ packet: CapturePacket, _ bytes: RawSpan) -> CapturePacket {
        guard packet.direction == nil, case .hci = packet.content else { return packet }
        var packet = packet
        let observed = ObservedPacket(packet)
        packet.direction = reassembler.direction(of: observed, bytes).map { $0 == .sent ? .sent : .received }
        reassembler.receive(observed, bytes) { _, _ in }
        return packet
    }
}
