import Bluetooth
import Captures
import Replay

struct Observed {
    var pdus: [(att: ATTObservation, pdu: [UInt8])] = []
    var events: [ConversationEvent] = []
    var drops: [DropReason: Int] = [:]
    var info = CaptureFileInfo()
    var error: CaptureError?

    var seen: [SeenPDU] { pdus.filter { !$0.att.isSynthetic }.map { SeenPDU(frame: $0.att.frame, pdu: hex($0.pdu)) } }

    init(path: String) throws {
        var file = CaptureFile(path: path)
        var reassembler = ConversationReassembler()
        do {
            try file.forEachPacket { packet, bytes in
                reassembler.receive(packet, bytes) { take($0, $1) }
            }
        } catch let error as CaptureError {
            self.error = error
        }
        reassembler.finish { take($0, $1) }
        drops = reassembler.drops
        info = file.info
    }

    init(packets: [(CapturePacket, [UInt8])]) {
        var reassembler = ConversationReassembler()
        for (packet, bytes) in packets {
            reassembler.receive(packet, bytes.span.bytes) { take($0, $1) }
        }
        reassembler.finish { take($0, $1) }
        drops = reassembler.drops
    }

    private mutating func take(_ event: ConversationEvent, _ bytes: RawSpan) {
        events.append(event)
        if case .att(let att) = event { pdus.append((att, array(bytes))) }
    }
}

func array(_ bytes: RawSpan) -> [UInt8] {
    bytes.withUnsafeBytes { Array($0) }
}

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Accepts `47 54 00` and `475400`.
func bytes(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }
    return stride(from: 0, to: digits.count - 1, by: 2).map { offset in
        let start = digits.index(digits.startIndex, offsetBy: offset)
        return UInt8(digits[start...digits.index(after: start)], radix: 16) ?? 0
    }
}
