import Bluetooth

// The attributes of a gadget, by their handles.

extension Gadget {
    /// A service: a declaration and the attributes up to its last handle.
    public struct Service: Hashable, Sendable, Codable {
        /// `nil`: unknown; nobody has discovered it.
        public var uuid: BluetoothUUID?
        /// Handle of the declaration.
        public var handle: UInt16
        /// Last handle of the service.
        public var end: UInt16
        /// `true` for a secondary service, which is found only through services that include it; `nil`: it is a primary
        /// one.
        public var secondary: Bool?
        /// How it is known.
        public var source: Source
        /// Services that it includes.
        public var includes: [Include]
        /// In order of their handles.
        public var characteristics: [Characteristic]

        public init(
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
    public struct Include: Hashable, Sendable, Codable {
        /// Handle of the include declaration.
        public var handle: UInt16
        /// First and last handle of the service that is included.
        public var start: UInt16
        /// Its last handle.
        public var end: UInt16
        /// Of the included service; `nil`: the declaration does not say (128 bits do not fit there).
        public var uuid: BluetoothUUID?

        public init(handle: UInt16, start: UInt16, end: UInt16, uuid: BluetoothUUID? = nil) {
            self.handle = handle
            self.start = start
            self.end = end
            self.uuid = uuid
        }
    }

    /// A characteristic: declaration, value, descriptors.
    public struct Characteristic: Hashable, Sendable, Codable {
        /// `nil`: unknown; only its handle was seen.
        public var uuid: BluetoothUUID?
        /// Handle of the declaration.
        public var declaration: UInt16
        /// Handle of the value: names the characteristic in conversations.
        public var handle: UInt16
        /// As declared; what was seen of it where `source` is `seen`.
        public var properties: CharacteristicProperties
        /// How it is known.
        public var source: Source
        /// As it was last read; `nil`: it never was.
        public var value: Octets?
        /// In order of their handles.
        public var descriptors: [Descriptor]

        public init(
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
        public var configuration: UInt16? { descriptors.first { $0.uuid == GATTTable.clientConfiguration }?.handle }
        /// It sends values by itself.
        public var canBeSubscribed: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
    }

    /// A descriptor of a characteristic.
    public struct Descriptor: Hashable, Sendable, Codable {
        /// `nil`: unknown; only its handle was seen.
        public var uuid: BluetoothUUID?
        /// Its handle.
        public var handle: UInt16
        /// How it is known.
        public var source: Source
        /// As it was last read; `nil`: it never was.
        public var value: Octets?

        public init(uuid: BluetoothUUID?, handle: UInt16, source: Source = .discovered, value: Octets? = nil) {
            self.uuid = uuid
            self.handle = handle
            self.source = source
            self.value = value
        }
    }
}
