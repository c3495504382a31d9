import BottleProtocol
import Bluetooth

extension RemoteService {
    /// The characteristics of a service with a 16-bit UUID; empty for others, such as the firmware update.
    var offeredCharacteristics: [OfferedCharacteristic] {
        guard let name = uuid.short else { return [] }
        return characteristics.compactMap { characteristic in
            characteristic.uuid.short.map {
                OfferedCharacteristic(
                    service: name, uuid: $0, handle: characteristic.handle,
                    properties: characteristic.properties.rawValue)
            }
        }
    }
}

extension [RemoteService] {
    /// The value handle of a characteristic that can be read; `nil` if there is none.
    func valueHandle(ofReadable uuid: UInt16, in service: UInt16) -> UInt16? {
        filter { $0.uuid == BluetoothUUID(service) }.flatMap(\.characteristics)
            .first { $0.uuid == BluetoothUUID(uuid) && $0.properties.contains(.read) }?.handle
    }
}
