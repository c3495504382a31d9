import Bluetooth

/// An advertisement that an ESPHome Bluetooth proxy has forwarded.
struct ProxyAdvertisement: Hashable {
    var address: BluetoothAddress
    /// The address type: 0 public, else random (Core 5.4, Vol 4 Part E, 7.7.65.2).
    var addressType: Int
    var rssi: Int
    var content: Content

    /// The advertised data: AD structures from newer proxies, parsed fields from older ones.
    enum Content: Hashable {
        case raw([UInt8])
        case parsed(name: String, services: [BluetoothUUID])
    }

    /// Decodes a `BluetoothLERawAdvertisement`.
    init(raw bytes: ArraySlice<UInt8>) throws(ProtobufMessage.Malformed) {
        let fields = try ProtobufMessage(bytes)
        (address, addressType, rssi) = (fields.address, fields.number(3), fields.zigzag(2))
        content = .raw(fields.bytes(4))
    }

    /// Decodes a `BluetoothLEAdvertisementResponse`.
    init(advertisement fields: ProtobufMessage) {
        (address, addressType, rssi) = (fields.address, fields.number(7), fields.zigzag(3))
        let services = fields.repeated(4).prefix(64).compactMap { BluetoothUUID(String(decoding: $0, as: UTF8.self)) }
        content = .parsed(name: fields.text(2), services: services)
    }
}
