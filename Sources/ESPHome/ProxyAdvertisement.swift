import Bluetooth

/// An advertisement that an ESPHome Bluetooth proxy has forwarded.
struct ProxyAdvertisement: Hashable {
    var address: BluetoothAddress
    /// The address type: 0 public, else random (Core 5.4, Vol 4 Part E, 7.7.65.2).
    var addressType: Int
    var rssi: Int
    /// The AD structures.
    var data: [UInt8]

    /// Decodes a `BluetoothLERawAdvertisement`.
    init(_ bytes: ArraySlice<UInt8>) throws(ProtobufMessage.Malformed) {
        let fields = try ProtobufMessage(bytes)
        (address, addressType, rssi) = (fields.address, fields.number(3), fields.zigzag(2))
        data = fields.bytes(4)
    }
}
