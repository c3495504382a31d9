/// The link layer's CRC: polynomial x24 + x10 + x9 + x6 + x4 + x3 + x + 1, least significant bit first (Core 5.4, Vol 6
/// Part B, 3.1.1). The value is the three bytes on the air as a little-endian number.
enum CRC24 {
    /// The initial value for advertising packets: 0x555555, bit-reversed.
    static let advertisingInit: UInt32 = 0x55_5555

    /// The CRC of a link-layer packet's header and payload.
    /// - Parameter crcInit: CRCInit, the little-endian number of CONNECT_IND.
    static func of(_ bytes: RawSpan, crcInit: UInt32) -> UInt32 {
        var crc = reversed(crcInit)
        for index in 0..<bytes.byteCount {
            crc = table[Int((crc ^ UInt32(bytes.u8(index))) & 0xFF)] ^ (crc >> 8)
        }
        return crc
    }

    /// The initial CRC value that gives these bytes this CRC, calculated by running the register backwards.
    static func crcInit(of bytes: RawSpan, crc: UInt32) -> UInt32 {
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

    /// The polynomial, bit-reversed for a register that shifts right.
    private static let polynomial: UInt32 = 0xDA_6000

    /// The register after each value of a byte.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(byte) { crc, _ in crc & 1 == 1 ? (crc >> 1) ^ polynomial : crc >> 1 }
    }

    /// Reverses the bits, because CRCInit enters the register most significant bit first.
    private static func reversed(_ value: UInt32) -> UInt32 {
        var bits = value & 0xFF_FFFF
        bits = (bits & 0x55_5555) << 1 | bits >> 1 & 0x55_5555
        bits = (bits & 0x33_3333) << 2 | bits >> 2 & 0x33_3333
        bits = (bits & 0x0F_0F0F) << 4 | bits >> 4 & 0x0F_0F0F
        return bits.byteSwapped >> 8
    }
}
