/// A Bluetooth UUID of 128 bits. The text form is short if the UUID uses the Bluetooth base UUID
/// `00000000-0000-1000-8000-00805F9B34FB` (Core 5.4, Vol 3 Part B, 2.5.1).
package struct BluetoothUUID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
    private static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

    package init(_ short: UInt16) {
        high = UInt64(short) << 32 | Self.baseHigh
        low = Self.baseLow
    }

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
            var high: UInt64 = 0
            var low: UInt64 = 0
            for (index, byte) in bytes.reversed().enumerated() {
                if index < 8 { high = high << 8 | UInt64(byte) } else { low = low << 8 | UInt64(byte) }
            }
            self.init(high: high, low: low)
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
            guard let short = UInt64(digits, radix: 16) else { return nil }
            self.init(high: short << 32 | Self.baseHigh, low: Self.baseLow)
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
        if let short { return [UInt8(truncatingIfNeeded: short), UInt8(short >> 8)] }
        return full128LittleEndian
    }

    /// The 16 bytes of the full form, little-endian.
    package var full128LittleEndian: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: low >> (8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: high >> (8 * $0)) }
    }
}

extension BluetoothUUID: CustomStringConvertible {
    /// The 16-bit form if there is one, such as `FF01`, else the full form in upper case.
    package var description: String {
        if let short { return hex(UInt64(short), 4) }
        return fullDescription
    }

    /// The full form: `0000FF01-0000-1000-8000-00805F9B34FB`.
    package var fullDescription: String {
        [
            hex(high >> 32, 8), hex(high >> 16 & 0xFFFF, 4), hex(high & 0xFFFF, 4), hex(low >> 48, 4),
            hex(low & 0xFFFF_FFFF_FFFF, 12),
        ]
        .joined(separator: "-")
    }

    private func hex(_ value: UInt64, _ width: Int) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension BluetoothUUID: ExpressibleByIntegerLiteral {
    /// A 16-bit UUID: `0xFFE4`.
    package init(integerLiteral value: UInt16) { self.init(value) }
}
