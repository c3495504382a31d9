import Bluetooth
import BottleProtocol

/// A bottle's identity, from constant data: its address, or without a radio its serial number.
enum BottleIdentity {
    /// The text of a Serial Number String (2A25), if it can be an identity: an address (in the project's own format, so
    /// that a bottle has one name on all links), or 1–64 printable characters.
    static func from(serialNumber value: [UInt8]) -> String? {
        let text = printable(value)
        guard let text, text.utf8.count <= 64 else { return nil }
        return BluetoothAddress(text)?.description ?? text
    }

    /// The identity of a bottle without an address and a usable serial number: its name and its link.
    static func standIn(name: String?, link: String) -> String {
        name.map { "\($0) at \(link)" } ?? "bottle at \(link)"
    }

    /// The identity of a bottle with a private address, which changes, and without a usable serial number: its name.
    static func standIn(privateName name: String?) -> String? {
        name.map { "\($0) (private address)" }
    }

    /// A device name for display: printable, at most 248 bytes (Core 5.4, Vol 3 Part C, 12.1).
    static func name(_ value: [UInt8]) -> String? {
        printable(Array(value.prefix(248)))
    }

    /// Text without control characters, leading and trailing spaces, and the trailing zeros of C firmware.
    private static func printable(_ value: [UInt8]) -> String? {
        var bytes = value[...]
        while let last = bytes.last, last == 0 || last == 0x20 { bytes = bytes.dropLast() }
        while bytes.first == 0x20 { bytes = bytes.dropFirst() }
        guard !bytes.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

package struct BottleSelector: Hashable, Sendable {
    package var text: String

    package init(text: String) { self.text = text }

    var address: BluetoothAddress? { BluetoothAddress(text) }

    /// Whether the text selects a peer with this address and name. An address is compared with the address only; a name
    /// is compared without regard to case.
    package func matches(address: BluetoothAddress?, name: String?) -> Bool {
        if let wanted = self.address { return wanted == address }
        return name?.lowercased() == text.lowercased()
    }

    /// Whether an advertisement may be a bottle's: retail bottles advertise no service but have a name prefix; draft
    /// bottles advertise FF00 (protocol spec P1).
    package static func looksLikeBottle(_ advertisement: Advertisement) -> Bool {
        advertisement.name.map(BottleName.isBottle) == true
            || BottleProfile.allCases.contains {
                $0.advertisedService.map { advertisement.services.contains(BluetoothUUID($0)) } == true
            }
    }
}
