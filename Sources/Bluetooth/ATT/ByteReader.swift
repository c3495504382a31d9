/// Reads little-endian fields and reports which field is missing at which offset.
struct ByteReader {
    private let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var remaining: Int { bytes.count - offset }

    mutating func byte(_ what: String) throws(MalformedPDU) -> UInt8 {
        guard remaining >= 1 else { throw missing(what, 1) }
        defer { offset += 1 }
        return bytes[offset]
    }

    mutating func uint16(_ what: String) throws(MalformedPDU) -> UInt16 {
        guard remaining >= 2 else { throw missing(what, 2) }
        defer { offset += 2 }
        return bytes.uint16(at: offset)
    }

    mutating func bytes(_ count: Int, _ what: String) throws(MalformedPDU) -> [UInt8] {
        guard remaining >= count else { throw missing(what, count) }
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[offset...])
    }

    /// Reads a UUID from the remaining 2 or 16 bytes.
    mutating func uuid(_ what: String) throws(MalformedPDU) -> BluetoothUUID {
        let start = offset
        let raw = rest()
        guard let uuid = BluetoothUUID(littleEndian: raw) else {
            throw MalformedPDU(
                what: what + " (2 or 16 bytes)", offset: start, needed: raw.count < 2 ? 2 : 16, found: raw.count)
        }
        return uuid
    }

    /// The number of items of `size` bytes in the remaining bytes: at least one, without a remainder.
    func count(of what: String, size: Int) throws(MalformedPDU) -> Int {
        guard remaining >= size, remaining % size == 0 else {
            throw MalformedPDU(
                what: what, offset: offset, needed: max(1, (remaining + size - 1) / size) * size, found: remaining)
        }
        return remaining / size
    }

    func end() throws(MalformedPDU) {
        guard remaining == 0 else {
            throw MalformedPDU(what: "nothing more", offset: offset, needed: 0, found: remaining)
        }
    }

    private func missing(_ what: String, _ needed: Int) -> MalformedPDU {
        MalformedPDU(what: what, offset: offset, needed: needed, found: remaining)
    }
}

extension [UInt8] {
    mutating func append(littleEndian value: UInt16) {
        append(UInt8(truncatingIfNeeded: value))
        append(UInt8(value >> 8))
    }
}
