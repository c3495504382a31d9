package import Bluetooth
import BottleProtocol

/// Derives a bottle's identity from data that does not change: its address, or without a radio its serial number.
enum BottleIdentity {
    /// Returns the text of a Serial Number String (2A25) if it is an address or has 1–64 printable characters. The
    /// format of an address is the same on all links, so that a bottle has one identity.
    static func from(serialNumber value: [UInt8]) -> String? {
        let text = printable(value)
        guard let text, text.utf8.count <= 64 else { return nil }
        return BluetoothAddress(text)?.description ?? text
    }

    /// A device name for display: printable, at most 248 bytes (Core 5.4, Vol 3 Part C, 12.1).
    static func name(_ value: [UInt8]) -> String? {
        printable(Array(value.prefix(248)))
    }

    /// The text without control characters, outer spaces and trailing zero bytes, which C firmware appends.
    private static func printable(_ value: [UInt8]) -> String? {
        var bytes = value[...]
        while let last = bytes.last, last == 0 || last == 0x20 { bytes = bytes.dropLast() }
        while bytes.first == 0x20 { bytes = bytes.dropFirst() }
        guard !bytes.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// A bottle's address or name, as the user specifies it.
package struct BottleSelector: Hashable, Sendable {
    package var text: String

    package init(text: String) { self.text = text }

    var address: BluetoothAddress? { BluetoothAddress(text) }

    /// Whether the text selects a peer with this address and name. Names are compared without regard to case.
    package func matches(address: BluetoothAddress?, name: String?) -> Bool {
        if let ownAddress = self.address { return ownAddress == address }
        return name?.lowercased() == text.lowercased()
    }

    /// Whether an advertisement has the name prefix of retail bottles, or the service FF00 of draft bottles (protocol
    /// spec P1).
    package static func looksLikeBottle(_ advertisement: Advertisement) -> Bool {
        advertisement.name.map(BottleName.isBottle) == true
            || BottleProfile.allCases.contains {
                $0.advertisedService.map { advertisement.services.contains(BluetoothUUID($0)) } == true
            }
    }
}
