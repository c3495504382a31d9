/// ATT PDUs on a stream of bytes, each in an L2CAP basic frame: length of the PDU and channel 0x0004, both as 16 bits
/// with the low byte first, then the PDU (Core specification, volume 3, part A, 3.1). Frames for other channels are
/// skipped, as L2CAP does.
package struct BasicFrames: Sendable {
    /// What the bytes that have come make.
    package enum Next: Equatable, Sendable {
        case pdu([UInt8])
        /// More has to come.
        case incomplete
        /// A frame says that it is longer than any ATT PDU; where the next one begins is not known then.
        case tooLong(Int)
    }

    /// ATT's fixed channel.
    package static let channel: UInt16 = 0x0004
    /// Bytes of a PDU at most: more than any attribute protocol needs (512 of a value and its header).
    package static let longest = 1024
    private static let headerSize = 4

    private var bytes: [UInt8] = []
    private var start = 0

    /// With no byte waiting.
    package init() {}

    /// The frame of one PDU.
    package static func frame(_ pdu: [UInt8]) -> [UInt8] {
        let length = UInt16(truncatingIfNeeded: pdu.count)
        return [UInt8(length & 0xFF), UInt8(length >> 8), UInt8(channel & 0xFF), UInt8(channel >> 8)] + pdu
    }

    /// Takes what came over the carrier, cut anywhere.
    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.removeFirst(start)
        start = 0
        bytes.append(contentsOf: more)
    }

    /// Takes the next whole PDU out.
    package mutating func next() -> Next {
        while bytes.count - start >= Self.headerSize {
            let length = Int(bytes[start]) | Int(bytes[start + 1]) << 8
            guard length <= Self.longest else { return .tooLong(length) }
            let end = start + Self.headerSize + length
            guard end <= bytes.count else { return .incomplete }
            let isATT = UInt16(bytes[start + 2]) | UInt16(bytes[start + 3]) << 8 == Self.channel
            let pdu = Array(bytes[(start + Self.headerSize)..<end])
            start = end
            if isATT { return .pdu(pdu) }
        }
        return .incomplete
    }
}
