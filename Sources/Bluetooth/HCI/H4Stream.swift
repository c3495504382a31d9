/// HCI packets in a byte stream, each after a byte with its type (H4; Core 5.4, Vol 4 Part A, 2).
struct H4Stream {
    enum Step {
        case packet(UInt8, [UInt8])
        case incomplete
        /// A packet of an unknown type. The start of the next packet is unknown, too.
        case unknownType(UInt8)
    }

    private var bytes: [UInt8] = []
    private var start = 0

    mutating func append(_ more: [UInt8]) {
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes += more
    }

    mutating func next() -> Step {
        guard start < bytes.count else { return .incomplete }
        let type = bytes[start]
        guard let length = HCIPacketType.length(ofH4: bytes[start...]) else { return .unknownType(type) }
        guard bytes.count - start >= length else { return .incomplete }
        defer { start += length }
        return .packet(type, Array(bytes[(start + 1)..<(start + length)]))
    }
}
