import Bluetooth

/// What one GATT server told about its attributes, as far as a capture shows it.
///
/// Handles mean something only together with the server that gave them out: both ends of a connection can be servers,
/// each with a handle space of its own (capture notes, "ATT").
package struct AttributeTable: Sendable, Equatable {
    /// A characteristic: its value's handle is its name in requests.
    package struct Characteristic: Sendable, Equatable {
        /// What it is.
        package var uuid: BluetoothUUID
        /// What its declaration says may be done with its value.
        package var properties: CharacteristicProperties
        /// Handle of the declaration.
        package var declaration: UInt16
    }

    /// A service as far as the capture shows it.
    package struct Service: Sendable, Equatable {
        /// What it is.
        package var uuid: BluetoothUUID
        /// First handle of the group.
        package var start: UInt16
        /// Its last handle.
        package var end: UInt16
    }

    /// By the handle of the value.
    package private(set) var characteristics: [UInt16: Characteristic] = [:]
    /// By first handle.
    package private(set) var services: [UInt16: Service] = [:]
    /// Types of all attributes met by handle, descriptors included.
    package private(set) var types: [UInt16: BluetoothUUID] = [:]

    /// With nothing known.
    package init() {}

    /// Nothing is known of the server.
    package var isEmpty: Bool { characteristics.isEmpty && types.isEmpty && services.isEmpty }

    /// The type of the attribute at a handle: for a characteristic's value the characteristic's UUID.
    package func type(at handle: UInt16) -> BluetoothUUID? { characteristics[handle]?.uuid ?? types[handle] }

    /// The service whose group holds the handle.
    package func service(at handle: UInt16) -> Service? {
        services.values.first { $0.start <= handle && handle <= $0.end }
    }

    mutating func learn(characteristic: Characteristic, value: UInt16) {
        characteristics[value] = characteristic
    }

    mutating func learn(service: Service) {
        services[service.start] = service
    }

    mutating func learn(type: BluetoothUUID, at handle: UInt16) {
        types[handle] = type
    }
}
