/// Reads little-endian fields and reports which field is missing at which offset.
struct ByteReader {
    private let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var remaining: Int { bytes.count - offset }

    mutating func byte(_ field: String) throws(MalformedPDU) -> UInt8 {
        guard remaining >= 1 else { throw missing(field, 1) }
        defer { offset += 1 }
        return bytes[offset]
    }

    mutating func uint16(_ field: String) throws(MalformedPDU) -> UInt16 {
        guard remaining >= 2 else { throw missing(field, 2) }
        defer { offset += 2 }
        return bytes.uint16(at: offset)
    }

    mutating func bytes(_ count: Int, _ field: String) throws(MalformedPDU) -> [UInt8] {
        guard remaining >= count else { throw missing(field, count) }
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[offset...])
    }

    /// Reads a UUID from the remaining 2 or 16 bytes.
    mutating func uuid(_ field: String) throws(MalformedPDU) -> BluetoothUUID {
        let start = offset
        let raw = rest()
        guard let uuid = BluetoothUUID(littleEndian: raw) else {
            throw MalformedPDU(
                field: field + " (2 or 16 bytes)", offset: start, needed: raw.count < 2 ? 2 : 16, found: raw.count)
        }
        return uuid
    }

    /// Reads items of `itemSize` bytes to the end of the PDU: at least one, without a remainder.
    mutating func list<Item>(
        _ field: String, itemSize: Int, _ read: (inout ByteReader) throws(MalformedPDU) -> Item
    ) throws(MalformedPDU) -> [Item] {
        guard remaining >= itemSize, remaining % itemSize == 0 else {
            let needed = max(1, (remaining + itemSize - 1) / itemSize) * itemSize
            throw MalformedPDU(field: field, offset: offset, needed: needed, found: remaining)
        }
        var items: [Item] = []
        while remaining > 0 { items.append(try read(&self)) }
        return items
    }

    func end() throws(MalformedPDU) {
        guard remaining == 0 else {
            throw MalformedPDU(field: "nothing more", offset: offset, needed: 0, found: remaining)
        }
    }

    private func missing(_ field: String, _ needed: Int) -> MalformedPDU {
        MalformedPDU(field: field, offset: offset, needed: needed, found: remaining)
    }
}

extension [UInt8] {
    mutating func append(littleEndian value: UInt16) {
        append(UInt8(truncatingIfNeeded: value))
        append(UInt8(value >> 8))
    }
}
