import Bluetooth

/// A service with the subscription handles of its characteristics.
struct ProxyService: Hashable {
    var service: RemoteService
    /// The handle of the Client Characteristic Configuration (2902) by value handle.
    var cccdHandles: [UInt16: UInt16] = [:]

    /// The maximum number of characteristics of a service, and of descriptors of a characteristic.
    private static let maximumAttributes = 2048

    /// Decodes a `BluetoothGATTService`: UUID, handle, characteristics, short UUID.
    init(_ bytes: ArraySlice<UInt8>) throws(ProtobufMessage.Malformed) {
        let item = try ProtobufMessage(bytes)
        service = RemoteService(uuid: try item.uuid(short: 4), handle: item.handle, characteristics: [])
        for inner in item.repeated(3).prefix(Self.maximumAttributes) {
            // `BluetoothGATTCharacteristic`: UUID, handle, properties, descriptors, short UUID.
            let found = try ProtobufMessage(inner)
            let properties = CharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: found.number(3)))
            service.characteristics.append(
                RemoteCharacteristic(uuid: try found.uuid(short: 5), handle: found.handle, properties: properties))
            for inner in found.repeated(4).prefix(Self.maximumAttributes) {
                // `BluetoothGATTDescriptor`: UUID, handle, short UUID.
                let descriptor = try ProtobufMessage(inner)
                if try descriptor.uuid(short: 3) == 0x2902 { cccdHandles[found.handle] = descriptor.handle }
            }
        }
    }
}
