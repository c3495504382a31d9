// Little-endian integers of HCI, L2CAP and link-layer packets. Offsets are not checked; a wrong one stops the program.

extension RawSpan {
    func u8(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
    func u16(_ offset: Int) -> UInt16 {
        UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }
    func u24(_ offset: Int) -> UInt32 { UInt32(u16(offset)) | UInt32(u8(offset + 2)) << 16 }
    func u32(_ offset: Int) -> UInt32 {
        UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// Six bytes, least significant byte first.
    func address(_ offset: Int) -> BluetoothAddress {
        BluetoothAddress(UInt64(u32(offset)) | UInt64(u16(offset + 4)) << 32)
    }

    func isEqual(to other: [UInt8]) -> Bool {
        byteCount == other.count && withUnsafeBytes { mine in other.withUnsafeBytes { mine.elementsEqual($0) } }
    }
}
