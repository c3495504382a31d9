import Bluetooth

/// A service with the subscription handles of its characteristics.
struct ProxyService: Hashable {
    var service: RemoteService
    /// The handle of the Client Characteristic Configuration (2902) by value handle.
    var configurations: [UInt16: UInt16] = [:]

    /// The maximum number of characteristics of a service, and of descriptors of a characteristic.
    private static let most = 2048

    /// Decodes a `BluetoothGATTService`: UUID, handle, characteristics, short UUID.
    init(_ bytes: ArraySlice<UInt8>) throws(ProtobufReader.Malformed) {
        let item = try Item(bytes)
        service = RemoteService(uuid: item.uuid(short: 4), handle: item.handle, characteristics: [])
        for inner in item.messages(3).prefix(Self.most) {
            // `BluetoothGATTCharacteristic`: UUID, handle, properties, descriptors, short UUID.
            let found = try Item(inner)
            let properties = CharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: found.numbers[3] ?? 0))
            service.characteristics.append(
                RemoteCharacteristic(uuid: found.uuid(short: 5), handle: found.handle, properties: properties))
            for inner in found.messages(4).prefix(Self.most) {
                // `BluetoothGATTDescriptor`: UUID, handle, short UUID.
                let descriptor = try Item(inner)
                if descriptor.uuid(short: 3) == 0x2902 { configurations[found.handle] = descriptor.handle }
            }
        }
    }

    /// The common fields of services, characteristics and descriptors.
    private struct Item {
        /// The upper and the lower half of a UUID (field 1).
        var halves: [UInt64] = []
        var numbers: [Int: UInt64] = [:]
        private var inner: [(field: Int, bytes: ArraySlice<UInt8>)] = []

        init(_ bytes: ArraySlice<UInt8>) throws(ProtobufReader.Malformed) {
            var reader = ProtobufReader(bytes)
            while let (field, value) = try reader.next() {
                switch (field, value) {
                case (1, .number(let half)): halves.append(half)
                case (1, .bytes(let packed)): halves += try ProtobufReader.packed(packed)
                case (_, .number(let number)): numbers[field] = number
                case (_, .bytes(let message)): inner.append((field, message))
                }
            }
        }

        var handle: UInt16 { UInt16(truncatingIfNeeded: numbers[2] ?? 0) }
        func messages(_ field: Int) -> [ArraySlice<UInt8>] { inner.filter { $0.field == field }.map(\.bytes) }

        /// The UUID. From API version 1.12 on, UUIDs of 16 and 32 bits are in a separate field.
        func uuid(short field: Int) -> BluetoothUUID {
            if halves.count >= 2 { return BluetoothUUID(high: halves[0], low: halves[1]) }
            return BluetoothUUID(high: (numbers[field] ?? 0) << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
        }
    }
}
