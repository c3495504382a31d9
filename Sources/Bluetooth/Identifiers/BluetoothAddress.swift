/// A Bluetooth device address, 48 bits. As text, the most significant byte comes first: `A4:C1:38:01:02:03`.
package struct BluetoothAddress: Hashable, Sendable {
    package let value: UInt64

    /// - Parameter value: only the lower 48 bits are used.
    package init(_ value: UInt64) {
        self.value = value & 0xFFFF_FFFF_FFFF
    }

    /// Parses six bytes as HCI has them, least significant byte first; `nil` for any other count.
    package init?(littleEndian bytes: some Collection<UInt8>) {
        guard bytes.count == 6 else { return nil }
        self.init(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Parses `AA:BB:CC:DD:EE:FF` in either case, with `:`, `-` or `_` as separators.
    package init?(_ text: String) {
        let parts = text.split(omittingEmptySubsequences: false) { $0 == ":" || $0 == "-" || $0 == "_" }
        guard parts.count == 6 else { return nil }
        var value: UInt64 = 0
        for part in parts {
            guard part.utf8.count == 2, part.first != "+", part.first != "-", let byte = UInt8(part, radix: 16) else {
                return nil
            }
            value = value << 8 | UInt64(byte)
        }
        self.init(value)
    }

    /// Six bytes, least significant byte first.
    package var littleEndian: [UInt8] { value.littleEndianBytes(6) }
}

extension BluetoothAddress: CustomStringConvertible {
    package var description: String {
        littleEndian.reversed().map(\.hexDigits).joined(separator: ":")
    }
}
