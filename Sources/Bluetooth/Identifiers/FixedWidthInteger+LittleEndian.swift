extension FixedWidthInteger {
    /// Its lowest bytes, the lowest first.
    func littleEndianBytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) } }
}
