import Bluetooth
import DBus

/// Advertising data as properties of a D-Bus advertisement object, from AD structures (`length(1) type(1) data(length −
/// 1)`; types in the Assigned Numbers).
///
/// bluetoothd puts the name into the scan response, and everything else into the advertisement (31 bytes).
struct AdvertisedProperties: Equatable {
    /// Properties of `org.bluez.LEAdvertisement1`, without its type.
    var properties: [String: DBusValue] = [:]
    /// One text for each structure that has no D-Bus property or does not fit.
    var omitted: [String] = []

    private static let maximumLength = 31
    private static let maximumNameLength = 29

    /// Types that bluetoothd writes itself, has another property for, or reserves. With one of them under `Data` it
    /// rejects the advertisement (`bt_ad_add_data` in `src/shared/ad.c`, BlueZ 5.52 to 5.82).
    private static let refused: Set<UInt8> = Set(0x01...0x0A).union(0x0D...0x12).union(0x14...0x23).union(0x27...0x2B)
        .union([0x3D, 0xFF])

    init(_ bytes: AdvertisingBytes) {
        var free = Self.maximumLength
        var (services, solicited): ([DBusValue], [DBusValue]) = ([], [])
        var (manufacturer, serviceData, other): ([DBusValue.Entry], [DBusValue.Entry], [DBusValue.Entry]) = ([], [], [])
        let structures = AdvertisingBytes.structures(bytes.data) + AdvertisingBytes.structures(bytes.scanResponse)
        // bluetoothd writes the Flags structure itself, and has one property for both discoverable modes.
        let isDiscoverable = structures.contains { $0.type == 0x01 && ($0.data.first ?? 0) & 0x03 != 0 }
        properties["Discoverable"] = .boolean(isDiscoverable)
        if isDiscoverable { free -= 3 }
        for (type, data) in structures where type != 0x01 {
            guard type != 0x08, type != 0x09 else {
                // Some devices pad the name with zeros, which a D-Bus string cannot have.
                var name = String(decoding: data.prefix { $0 != 0 }, as: UTF8.self)
                while name.utf8.count > Self.maximumNameLength { name.removeLast() }
                if !name.isEmpty, type == 0x09 || properties["LocalName"] == nil {
                    properties["LocalName"] = .string(name)
                }
                continue
            }
            guard data.count + 2 <= free else {
                omitted.append("AD type 0x\(type.hexDigits), \(data.count) bytes: no room")
                continue
            }
            // bluetoothd also rejects empty data.
            switch type {
            case 0x02...0x07: services += Self.uuids(data, size: type < 0x04 ? 2 : type < 0x06 ? 4 : 16)
            case 0x14, 0x15, 0x1F: solicited += Self.uuids(data, size: type == 0x14 ? 2 : type == 0x15 ? 16 : 4)
            case 0x16 where data.count > 2: serviceData.append(Self.entry(Array(data.prefix(2)), data.dropFirst(2)))
            case 0x20 where data.count > 4: serviceData.append(Self.entry(Array(data.prefix(4)), data.dropFirst(4)))
            case 0x21 where data.count > 16: serviceData.append(Self.entry(Array(data.prefix(16)), data.dropFirst(16)))
            case 0x19 where data.count == 2: properties["Appearance"] = .uint16(data.uint16(at: 0))
            case 0xFF where data.count > 2 && manufacturer.isEmpty:
                manufacturer = [
                    DBusValue.Entry(.uint16(data.uint16(at: 0)), .variant(.bytes(Array(data.dropFirst(2)))))
                ]
            case _ where Self.refused.contains(type):
                omitted.append("AD type 0x\(type.hexDigits), \(data.count) bytes: not supported by bluetoothd")
                continue
            default: other.append(DBusValue.Entry(.byte(type), .variant(.bytes(data))))
            }
            free -= data.count + 2
        }
        if !services.isEmpty { properties["ServiceUUIDs"] = .array("s", services) }
        if !solicited.isEmpty { properties["SolicitUUIDs"] = .array("s", solicited) }
        if !manufacturer.isEmpty { properties["ManufacturerData"] = .dictionary("q", "v", manufacturer) }
        if !serviceData.isEmpty { properties["ServiceData"] = .dictionary("s", "v", serviceData) }
        if !other.isEmpty { properties["Data"] = .dictionary("y", "v", other) }
    }

    private static func uuids(_ data: [UInt8], size: Int) -> [DBusValue] {
        stride(from: 0, to: data.count - size + 1, by: size).compactMap {
            text(Array(data[$0..<($0 + size)])).map { .string($0) }
        }
    }

    private static func entry(_ uuid: [UInt8], _ data: ArraySlice<UInt8>) -> DBusValue.Entry {
        DBusValue.Entry(.string(text(uuid) ?? ""), .variant(.bytes(Array(data))))
    }

    private static func text(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 4 else { return BluetoothUUID(littleEndian: bytes)?.fullDescription.lowercased() }
        let value = bytes.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return BluetoothUUID(uuid32: value).fullDescription.lowercased()
    }
}
