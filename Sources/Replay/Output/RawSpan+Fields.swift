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

    /// A UUID of 2 or 16 bytes, from an offset to the end.
    func uuid(from start: Int) -> BluetoothUUID? {
        start <= byteCount ? BluetoothUUID(littleEndian: extracting(start..<byteCount).bytes()) : nil
    }

    func bytes() -> [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
