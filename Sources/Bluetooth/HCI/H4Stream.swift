/// HCI packets in a byte stream, each after a byte with its type (H4; Core 5.4, Vol 4 Part A, 2).
struct H4Stream {
    enum Step {
        case packet(UInt8, [UInt8])
        case incomplete
        /// The packet type is unknown, so the start of the next packet is unknown too.
        case broken(UInt8)
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
        let count = bytes.count - start
        guard count > 0 else { return .incomplete }
        let type = bytes[start]
        // The offset and size of the length field.
        let (at, size): (Int, Int)
        switch type {
        case 1, 3: (at, size) = (3, 1)
        case 2, 5: (at, size) = (3, 2)
        case 4: (at, size) = (2, 1)
        default: return .broken(type)
        }
        guard count >= at + size else { return .incomplete }
        var length = Int(bytes[start + at])
        if size == 2 { length |= Int(bytes[start + at + 1]) << 8 }
        // The two highest bits of the ISO data length field are reserved.
        if type == 5 { length &= 0x3FFF }
        let end = at + size + length
        guard count >= end else { return .incomplete }
        defer { start += end }
        return .packet(type, Array(bytes[(start + 1)..<(start + end)]))
    }
}
