package import Bluetooth

// The attributes of a peripheral profile.

extension PeripheralProfile {
    /// A service: its declaration and the attributes up to its last handle.
    package struct Service: Hashable, Sendable, Codable {
        /// The UUID of the service; `nil` if no discovery was captured.
        package var uuid: BluetoothUUID?
        package var handle: UInt16
        package var end: UInt16
        /// `true` for a secondary service, which only other services include.
        package var secondary: Bool?
        /// Whether the capture has the discovery of the service, or only its traffic.
        package var source: Source
        package var includes: [Include] = []
        package var characteristics: [Characteristic]

        package init(
            uuid: BluetoothUUID?, handle: UInt16, end: UInt16, secondary: Bool? = nil, source: Source = .discovered,
            characteristics: [Characteristic] = []
        ) {
            self.uuid = uuid
            self.handle = handle
            self.end = end
            self.secondary = secondary
            self.source = source
            self.characteristics = characteristics
        }
    }

    package struct Include: Hashable, Sendable, Codable {
        package var handle: UInt16
        package var start: UInt16
        package var end: UInt16
        /// The 16-bit UUID in the declaration; `nil` for a 128-bit UUID, which a declaration does not contain.
        package var uuid: BluetoothUUID?

        package init(handle: UInt16, start: UInt16, end: UInt16, uuid: BluetoothUUID? = nil) {
            self.handle = handle
            self.start = start
            self.end = end
            self.uuid = uuid
        }
    }

    package struct Characteristic: Hashable, Sendable, Codable {
        /// The UUID of the characteristic; `nil` if only its handle is known.
        package var uuid: BluetoothUUID?
        package var declaration: UInt16
        /// The value handle, which identifies the characteristic in conversations.
        package var handle: UInt16
        /// The declared properties. If `source` is `seen`, those that the traffic shows.
        package var properties: CharacteristicProperties
        package var source: Source
        /// The last value that was read; `nil` if there is none.
        package var value: Octets?
        package var descriptors: [Descriptor]

        package init(
            uuid: BluetoothUUID?, declaration: UInt16, handle: UInt16, properties: CharacteristicProperties,
            source: Source = .discovered,
            value: Octets? = nil, descriptors: [Descriptor] = []
        ) {
            self.uuid = uuid
            self.declaration = declaration
            self.handle = handle
            self.properties = properties
            self.source = source
            self.value = value
            self.descriptors = descriptors
        }

        package var cccdHandle: UInt16? { descriptors.first { $0.uuid == GATTTable.cccd }?.handle }
        /// Whether the characteristic supports notifications or indications.
        package var canBeSubscribed: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
    }

    package struct Descriptor: Hashable, Sendable, Codable {
        /// The UUID of the descriptor; `nil` if only its handle is known.
        package var uuid: BluetoothUUID?
        package var handle: UInt16
        package var source: Source
        /// The last value that was read; `nil` if there is none.
        package var value: Octets?

        package init(uuid: BluetoothUUID?, handle: UInt16, source: Source = .discovered, value: Octets? = nil) {
            self.uuid = uuid
            self.handle = handle
            self.source = source
            self.value = value
        }
    }
}
