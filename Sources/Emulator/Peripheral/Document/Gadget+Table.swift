import Bluetooth

// The attributes of a gadget, by their handles.

extension Gadget {
    /// A service: a declaration and the attributes up to its last handle.
    package struct Service: Hashable, Sendable, Codable {
        /// `nil`: unknown; nobody has discovered it.
        package var uuid: BluetoothUUID?
        /// Handle of the declaration.
        package var handle: UInt16
        /// Last handle of the service.
        package var end: UInt16
        /// `true` for a secondary service, which is found only through services that include it; `nil`: it is a primary
        /// one.
        package var secondary: Bool?
        /// How it is known.
        package var source: Source
        /// Services that it includes.
        package var includes: [Include]
        /// In order of their handles.
        package var characteristics: [Characteristic]

        package init(
            uuid: BluetoothUUID?, handle: UInt16, end: UInt16, secondary: Bool? = nil, source: Source = .discovered,
            includes: [Include] = [],
            characteristics: [Characteristic] = []
        ) {
            self.uuid = uuid
            self.handle = handle
            self.end = end
            self.secondary = secondary
            self.source = source
            self.includes = includes
            self.characteristics = characteristics
        }
    }

    /// A service that another one includes.
    package struct Include: Hashable, Sendable, Codable {
        /// Handle of the include declaration.
        package var handle: UInt16
        /// First and last handle of the service that is included.
        package var start: UInt16
        /// Its last handle.
        package var end: UInt16
        /// Of the included service; `nil`: the declaration does not say (128 bits do not fit there).
        package var uuid: BluetoothUUID?

        package init(handle: UInt16, start: UInt16, end: UInt16, uuid: BluetoothUUID? = nil) {
            self.handle = handle
            self.start = start
            self.end = end
            self.uuid = uuid
        }
    }

    /// A characteristic: declaration, value, descriptors.
    package struct Characteristic: Hashable, Sendable, Codable {
        /// `nil`: unknown; only its handle was seen.
        package var uuid: BluetoothUUID?
        /// Handle of the declaration.
        package var declaration: UInt16
        /// Handle of the value: names the characteristic in conversations.
        package var handle: UInt16
        /// As declared; what was seen of it where `source` is `seen`.
        package var properties: CharacteristicProperties
        /// How it is known.
        package var source: Source
        /// As it was last read; `nil`: it never was.
        package var value: Octets?
        /// In order of their handles.
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

        /// Where a host subscribes (2902).
        package var configuration: UInt16? { descriptors.first { $0.uuid == GATTTable.clientConfiguration }?.handle }
        /// It sends values by itself.
        package var canBeSubscribed: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
    }

    /// A descriptor of a characteristic.
    package struct Descriptor: Hashable, Sendable, Codable {
        /// `nil`: unknown; only its handle was seen.
        package var uuid: BluetoothUUID?
        /// Its handle.
        package var handle: UInt16
        /// How it is known.
        package var source: Source
        /// As it was last read; `nil`: it never was.
        package var value: Octets?

        package init(uuid: BluetoothUUID?, handle: UInt16, source: Source = .discovered, value: Octets? = nil) {
            self.uuid = uuid
            self.handle = handle
            self.source = source
            self.value = value
        }
    }
}
