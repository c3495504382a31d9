/// The link layer's checksum: polynomial x24 + x10 + x9 + x6 + x4 + x3 + x + 1, bits least significant first
/// (Core 5.4, Vol 6 Part B, 3.1.1). Held as the three bytes on the air, little-endian.
enum CRC24 {
    /// Of advertising packets; as the register is drawn, bit-reversed: 0x555555.
    static let advertisingInit: UInt32 = 0x55_5555

    /// - Parameter seed: CRCInit as CONNECT_IND carries it (little-endian number).
    static func of(_ bytes: RawSpan, seed: UInt32) -> UInt32 {
        var crc = reversed(seed)
        for index in 0..<bytes.byteCount {
            crc = table[Int((crc ^ UInt32(bytes.u8(index))) & 0xFF)] ^ (crc >> 8)
        }
        return crc
    }

    /// The seed with which these bytes have this checksum: runs the register backwards.
    static func seed(_ bytes: RawSpan, crc: UInt32) -> UInt32 {
        var state = crc & 0xFF_FFFF
        for index in (0..<bytes.byteCount).reversed() {
            for _ in 0..<8 {
                let carried = state >> 23 & 1
                state = ((state ^ (carried == 1 ? polynomial : 0)) << 1 | carried) & 0xFF_FFFF
            }
            state ^= UInt32(bytes.u8(index))
        }
        return reversed(state)
    }

    /// The polynomial with its bits reversed, for a register that shifts right.
    private static let polynomial: UInt32 = 0xDA_6000

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ polynomial : crc >> 1 }
    }

    /// CRCInit is a number whose bits enter the register most significant first.
    private static func reversed(_ value: UInt32) -> UInt32 {
        var result: UInt32 = 0
        for bit in 0..<24 where value >> bit & 1 == 1 { result |= 1 << (23 - bit) }
        return result
    }
}
