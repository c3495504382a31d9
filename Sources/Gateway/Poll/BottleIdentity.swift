import Bluetooth
import BottleProtocol

/// A bottle's identity, from data that a retransmission does not change: its address, or without a radio its serial
/// number.
enum BottleIdentity {
    /// The text of a Serial Number String (2A25), where it can serve as an identity: an address (in the project's own
    /// spelling, so that the same bottle has one name on all links), or 1–64 printable characters.
    static func from(serialNumber value: [UInt8]) -> String? {
        let text = printable(value)
        guard let text, text.utf8.count <= 64 else { return nil }
        return BluetoothAddress(text)?.description ?? text
    }

    /// The identity of a bottle without an address and a usable serial number: its name and its link.
    static func standIn(name: String?, link: String) -> String {
        name.map { "\($0) at \(link)" } ?? "bottle at \(link)"
    }

    /// The identity of a bottle with a private address, which changes, and no usable serial number: its name.
    static func standIn(privateName name: String?) -> String? {
        name.map { "\($0) (private address)" }
    }

    /// A device name as it may be shown: printable, at most 248 bytes (Core 5.4, Vol 3 Part C, 12.1).
    static func name(_ value: [UInt8]) -> String? {
        printable(Array(value.prefix(248)))
    }

    /// Text without control characters, trimmed of spaces and of the zeros that C firmware leaves at the end.
    private static func printable(_ value: [UInt8]) -> String? {
        var bytes = value[...]
        while let last = bytes.last, last == 0 || last == 0x20 { bytes = bytes.dropLast() }
        while bytes.first == 0x20 { bytes = bytes.dropFirst() }
        guard !bytes.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// Which bottle is meant: by address or by name, in any case.
package struct BottleSelector: Hashable, Sendable {
    /// What a person wrote: an address, a name or an alias.
    package var text: String

    /// Of what a person wrote.
    package init(text: String) { self.text = text }

    /// The address, where it is one.
    var address: BluetoothAddress? { BluetoothAddress(text) }

    /// Whether a peer of this address and name is meant: an address decides alone, a name in any case of its letters.
    package func matches(address: BluetoothAddress?, name: String?) -> Bool {
        if let wanted = self.address { return wanted == address }
        return name?.lowercased() == text.lowercased()
    }

    /// Whether an advertisement may be a bottle's: retail bottles advertise no service but have a name prefix, draft
    /// bottles advertise FF00 (protocol spec P1).
    package static func looksLikeBottle(_ advertisement: Advertisement) -> Bool {
        advertisement.name.map(BottleName.isBottle) == true
            || BottleProfile.allCases.contains {
                $0.advertisedService.map { advertisement.services.contains(BluetoothUUID($0)) } == true
            }
    }
}
