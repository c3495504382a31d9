/// ATT PDUs in a byte stream, each in an L2CAP basic frame: length (2 bytes) and channel 0x0004 (2 bytes), both
/// little-endian, then the PDU (Core 5.4, Vol 3 Part A, 3.1). Frames for other channels are skipped.
package struct BasicFrames: Sendable {
    package enum Next: Equatable, Sendable {
        case pdu([UInt8])
        case incomplete
        /// The frame is longer than any ATT PDU, so the start of the next frame is unknown.
        case tooLong(Int)
    }

    package static let channel: UInt16 = 0x0004
    /// The maximum PDU length in bytes: more than a value of 512 bytes and its header.
    package static let longest = 1024
    private static let headerSize = 4

    private var bytes: [UInt8] = []
    private var start = 0

    package init() {}

    package static func frame(_ pdu: [UInt8], channel: UInt16 = channel) -> [UInt8] {
        let length = UInt16(truncatingIfNeeded: pdu.count)
        return [UInt8(length & 0xFF), UInt8(length >> 8), UInt8(channel & 0xFF), UInt8(channel >> 8)] + pdu
    }

    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.removeFirst(start)
        start = 0
        bytes.append(contentsOf: more)
    }

    package mutating func next() -> Next {
        while bytes.count - start >= Self.headerSize {
            let length = Int(bytes.uint16(at: start))
            guard length <= Self.longest else { return .tooLong(length) }
            let end = start + Self.headerSize + length
            guard end <= bytes.count else { return .incomplete }
            let isATT = bytes.uint16(at: start + 2) == Self.channel
            let pdu = Array(bytes[(start + Self.headerSize)..<end])
            start = end
            if isATT { return .pdu(pdu) }
        }
        return .incomplete
    }
}
