// Numbers in a span. Callers have checked that the bytes are there; a mistake of ours stops the program, it never reads
// on.

extension RawSpan {
    func u8(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    func u16(_ offset: Int, bigEndian: Bool) -> UInt16 {
        let value = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)
        return bigEndian ? UInt16(bigEndian: value) : UInt16(littleEndian: value)
    }

    func u32(_ offset: Int, bigEndian: Bool) -> UInt32 {
        let value = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return bigEndian ? UInt32(bigEndian: value) : UInt32(littleEndian: value)
    }

    func i64(_ offset: Int, bigEndian: Bool) -> Int64 {
        let value = unsafeLoadUnaligned(fromByteOffset: offset, as: Int64.self)
        return bigEndian ? Int64(bigEndian: value) : Int64(littleEndian: value)
    }

    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// Whether the bytes at `offset` are these.
    func has(_ bytes: StaticString, at offset: Int) -> Bool {
        guard offset >= 0, byteCount - offset >= bytes.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.utf8CodeUnitCount where u8(offset + index) != bytes.utf8Start[index] { return false }
        return true
    }
}

extension Array where Element == UInt8 {
    mutating func append(_ value: some FixedWidthInteger, bigEndian: Bool) {
        Swift.withUnsafeBytes(of: bigEndian ? value.bigEndian : value.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { append(contentsOf: $0) }
    }
}
