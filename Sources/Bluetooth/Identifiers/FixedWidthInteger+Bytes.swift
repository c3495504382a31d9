extension FixedWidthInteger {
    /// The given number of low bytes, least significant byte first.
    func littleEndianBytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// All hexadecimal digits of the number, in upper case.
    package var hexDigits: String {
        let digits = String(self, radix: 16, uppercase: true)
        return String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
    }
}

extension RandomAccessCollection<UInt8> where Index == Int {
    /// The little-endian number at an index. The caller must check the length.
    package func uint16(at index: Int) -> UInt16 { UInt16(self[index]) | UInt16(self[index + 1]) << 8 }
}
