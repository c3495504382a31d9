extension FixedWidthInteger {
    /// The given number of low bytes, least significant byte first.
    func littleEndianBytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}
