import Bluetooth

// Fields of little-endian PDUs. A field beyond the end is `nil` and does not trap.
extension RawSpan {
    var first: UInt8? { isEmpty ? nil : byte(0) }

    /// The byte at an offset that the caller has checked.
    @inline(__always)
    func byte(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    @inline(__always)
    func little16(at offset: Int) -> UInt16? {
        guard offset >= 0, byteCount - offset >= 2 else { return nil }
        return UInt16(byte(offset)) | UInt16(byte(offset + 1)) << 8
    }

    /// A UUID of 2 or 16 bytes, up to `end` or the end of the bytes.
    func uuid(from start: Int, to end: Int? = nil) -> BluetoothUUID? {
        let end = end ?? byteCount
        guard start >= 0, end <= byteCount, end - start == 2 || end - start == 16 else { return nil }
        return BluetoothUUID(littleEndian: (start..<end).map { byte($0) })
    }

    func bytes(from start: Int = 0) -> [UInt8] {
        guard start < byteCount else { return [] }
        return [UInt8](unsafeUninitializedCapacity: byteCount - start) { buffer, filled in
            for index in start..<byteCount { buffer[index - start] = byte(index) }
            filled = byteCount - start
        }
    }
}
