/// A Bluetooth UUID of 128 bits. The text form is short if the UUID uses the Bluetooth base UUID
/// `00000000-0000-1000-8000-00805F9B34FB` (Core 5.4, Vol 3 Part B, 2.5.1).
package struct BluetoothUUID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
    private static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

    package init(_ short: UInt16) { self.init(uuid32: UInt32(short)) }

    package init(uuid32: UInt32) { self.init(high: UInt64(uuid32) << 32 | Self.baseHigh, low: Self.baseLow) }

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses 2 or 16 little-endian bytes; `nil` for any other count.
    package init?(littleEndian bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 2:
            self.init(bytes.reversed().reduce(UInt16(0)) { $0 << 8 | UInt16($1) })
        case 16:
            func number(_ bytes: some Collection<UInt8>) -> UInt64 {
                bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
            self.init(high: number(bytes.dropFirst(8)), low: number(bytes.prefix(8)))
        default:
            return nil
        }
    }

    /// Parses `FF01`, `0xFF01`, 8 hexadecimal digits, or the full form with or without dashes, in either case.
    package init?(_ text: String) {
        var digits = text.filter { $0 != "-" }[...]
        if digits.utf8.count > 2, digits.lowercased().hasPrefix("0x") { digits = digits.dropFirst(2) }
        guard digits.allSatisfy(\.isHexDigit) else { return nil }
        switch digits.utf8.count {
        case 4, 8:
            guard let uuid32 = UInt32(digits, radix: 16) else { return nil }
            self.init(uuid32: uuid32)
        case 32:
            guard let high = UInt64(digits.prefix(16), radix: 16), let low = UInt64(digits.dropFirst(16), radix: 16)
            else { return nil }
            self.init(high: high, low: low)
        default: return nil
        }
    }

    package var short: UInt16? {
        low == Self.baseLow && high & 0xFFFF_FFFF == Self.baseHigh ? UInt16(exactly: high >> 32) : nil
    }

    /// The shortest little-endian form: 2 or 16 bytes.
    package var littleEndian: [UInt8] {
        short?.littleEndianBytes(2) ?? full128LittleEndian
    }

    /// The 16 bytes of the full form, little-endian.
    package var full128LittleEndian: [UInt8] { low.littleEndianBytes(8) + high.littleEndianBytes(8) }
}

extension BluetoothUUID: CustomStringConvertible {
    /// The 16-bit form if there is one, such as `FF01`, else the full form in upper case.
    package var description: String {
        short?.hexDigits ?? fullDescription
    }

    /// The full form: `0000FF01-0000-1000-8000-00805F9B34FB`.
    package var fullDescription: String {
        let (high, low) = (high.hexDigits, low.hexDigits)
        return "\(high.prefix(8))-\(high.dropFirst(8).prefix(4))-\(high.suffix(4))-\(low.prefix(4))-\(low.suffix(12))"
    }
}

extension BluetoothUUID: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: UInt16) { self.init(value) }
}
