/// The attributes of a server, handles 1 upwards without gaps, built from what a peripheral shows.
///
/// GAP (1800) and GATT (1801) services come first, served by the link itself, unless the application brings its own.
/// Source: Core 5.4, Vol 3 Part G, 3 (service definitions) and Vol 3 Part C, 12 (GAP service).
public struct GATTTable: Hashable, Sendable {
    /// One row: what the attribute is, and with it how it is read and written.
    public struct Attribute: Hashable, Sendable {
        public let handle: UInt16
        public let type: BluetoothUUID
        public let content: Content
    }

    public enum Content: Hashable, Sendable {
        /// A service declaration; `end` is the last handle of the service.
        case service(BluetoothUUID, end: UInt16)
        /// Bytes that anybody may read: a characteristic declaration, a user description.
        case fixed([UInt8])
        /// A characteristic's value.
        case value(LocalCharacteristic)
        /// The Client Characteristic Configuration of the value at that handle.
        case configuration(of: UInt16, CharacteristicProperties)
    }

    public let attributes: [Attribute]
    private let valueHandles: [BluetoothUUID: UInt16]

    public static let primaryService: BluetoothUUID = 0x2800
    public static let secondaryService: BluetoothUUID = 0x2801
    public static let characteristic: BluetoothUUID = 0x2803
    public static let userDescription: BluetoothUUID = 0x2901
    public static let clientConfiguration: BluetoothUUID = 0x2902
    public static let genericAccess: BluetoothUUID = 0x1800
    public static let genericAttribute: BluetoothUUID = 0x1801
    public static let deviceName: BluetoothUUID = 0x2A00
    public static let appearance: BluetoothUUID = 0x2A01
    public static let serviceChanged: BluetoothUUID = 0x2A05

    /// Refuses what could not be served: a characteristic that occurs twice (its UUID names it), a constant longer
    /// than 512 bytes, more attributes than there are handles.
    public init(_ application: GATTApplication) throws(LinkError) {
        var builder = Builder()
        let own = application.services.map(\.uuid)
        for service in Self.standardServices(name: application.name) where !own.contains(service.uuid) {
            try builder.add(service)
        }
        for service in application.services { try builder.add(service) }
        attributes = builder.attributes
        valueHandles = builder.valueHandles
    }

    /// The attribute at a handle.
    public subscript(handle: UInt16) -> Attribute? {
        let index = Int(handle) - 1
        return attributes.indices.contains(index) ? attributes[index] : nil
    }

    /// Where the value of a characteristic stands.
    public func valueHandle(of characteristic: BluetoothUUID) -> UInt16? {
        valueHandles[characteristic]
    }

    /// The attributes in a range of handles, in order.
    func attributes(in range: ATTHandleRange) -> ArraySlice<Attribute> {
        let first = min(max(Int(range.first) - 1, 0), attributes.count)
        return attributes[first..<max(first, min(Int(range.last), attributes.count))]
    }

    private static func standardServices(name: String) -> [LocalService] {
        let shortName = Array(name.utf8.prefix(248))
        return [
            LocalService(uuid: genericAccess, characteristics: [
                LocalCharacteristic(uuid: deviceName, properties: .read, constant: shortName),
                // 0x0000: unknown appearance.
                LocalCharacteristic(uuid: appearance, properties: .read, constant: [0, 0]),
            ]),
            LocalService(uuid: genericAttribute, characteristics: [
                LocalCharacteristic(uuid: serviceChanged, properties: .indicate, constant: [])
            ]),
        ]
    }
}

extension GATTTable {
    private struct Builder {
        var attributes: [Attribute] = []
        var valueHandles: [BluetoothUUID: UInt16] = [:]

        mutating func add(_ service: LocalService) throws(LinkError) {
            let size = service.characteristics.reduce(1) { $0 + Self.size(of: $1) }
            guard let end = UInt16(exactly: attributes.count + size) else {
                throw LinkError(.outOfStep, "service \(service.uuid) does not fit: a table has at most 65535 attributes")
            }
            append(primaryService, .service(service.uuid, end: end))
            for characteristic in service.characteristics { try add(characteristic, of: service) }
        }

        private static func size(of characteristic: LocalCharacteristic) -> Int {
            2 + (characteristic.canBeSubscribed ? 1 : 0) + (characteristic.userDescription == nil ? 0 : 1)
        }

        private mutating func add(_ local: LocalCharacteristic, of service: LocalService) throws(LinkError) {
            guard valueHandles[local.uuid] == nil else {
                throw LinkError(.outOfStep, "characteristic \(local.uuid) occurs twice; its UUID must name it")
            }
            guard local.constant?.count ?? 0 <= ATTPDU.maximumValueLength,
                local.userDescription?.utf8.count ?? 0 <= ATTPDU.maximumValueLength
            else {
                throw LinkError(.outOfStep, "a value of characteristic \(local.uuid) is longer than 512 bytes")
            }
            // The value's handle follows the declaration's own.
            let valueHandle = nextHandle + 1
            var declaration = [local.properties.rawValue]
            declaration.append(littleEndian: valueHandle)
            append(characteristic, .fixed(declaration + local.uuid.littleEndian))
            append(local.uuid, .value(local))
            valueHandles[local.uuid] = valueHandle
            if local.canBeSubscribed {
                append(clientConfiguration, .configuration(of: valueHandle, local.properties))
            }
            if let text = local.userDescription { append(userDescription, .fixed(Array(text.utf8))) }
        }

        /// `add(service)` has made sure that there is room.
        private var nextHandle: UInt16 { UInt16(attributes.count + 1) }

        private mutating func append(_ type: BluetoothUUID, _ content: Content) {
            attributes.append(Attribute(handle: nextHandle, type: type, content: content))
        }
    }
}

extension LocalCharacteristic {
    var canBeSubscribed: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
}
