/// The attribute table of a server, built from a `GATTApplication`. Handles start at 1 without gaps unless given.
///
/// The GAP (1800) and GATT (1801) services come first, unless the application has its own. Source: Core 5.4, Vol 3 Part
/// G, 3 and Vol 3 Part C, 12.
package struct GATTTable: Hashable, Sendable {
    package struct Attribute: Hashable, Sendable {
        package let handle: UInt16
        /// The attribute type: a declaration, a descriptor, or the characteristic's UUID.
        package let type: BluetoothUUID
        package let content: Content
    }

    /// The content of an attribute, which determines how it is read and written.
    package enum Content: Hashable, Sendable {
        /// A service declaration; `end` is the last handle of the service.
        case service(BluetoothUUID, end: UInt16)
        /// Constant bytes that every client can read: a characteristic declaration, a user description.
        case fixed([UInt8])
        /// A characteristic value, or a descriptor whose value the application supplies.
        case value(LocalCharacteristic)
        case cccd(of: UInt16, CharacteristicProperties)
    }

    package let attributes: [Attribute]
    private let valueHandles: [BluetoothUUID: UInt16]

    package static let primaryService: BluetoothUUID = 0x2800
    package static let secondaryService: BluetoothUUID = 0x2801
    package static let include: BluetoothUUID = 0x2802
    package static let characteristic: BluetoothUUID = 0x2803
    package static let userDescription: BluetoothUUID = 0x2901
    /// Client Characteristic Configuration descriptor: notifications (bit 0) and indications (bit 1).
    package static let cccd: BluetoothUUID = 0x2902
    package static let genericAccess: BluetoothUUID = 0x1800
    package static let genericAttribute: BluetoothUUID = 0x1801
    package static let deviceName: BluetoothUUID = 0x2A00
    package static let appearance: BluetoothUUID = 0x2A01
    package static let serviceChanged: BluetoothUUID = 0x2A05

    /// Throws if an identifier occurs twice, a constant is longer than 512 bytes, there are more than 65,535
    /// attributes, or given handles do not increase.
    package init(_ application: GATTApplication) throws(LinkError) {
        var builder = Builder()
        let definedUUIDs = application.services.map(\.uuid)
        if !application.isCompleteTable {
            for service in Self.standardServices(name: application.name) where !definedUUIDs.contains(service.uuid) {
                try builder.add(service)
            }
        }
        for service in application.services { try builder.add(service) }
        attributes = builder.attributes
        valueHandles = builder.valueHandles
    }

    package subscript(handle: UInt16) -> Attribute? {
        // In a table without gaps, the index follows from the handle.
        let index = Int(handle) - 1
        if attributes.indices.contains(index), attributes[index].handle == handle { return attributes[index] }
        return attributes.first { $0.handle == handle }
    }

    package func valueHandle(of characteristic: BluetoothUUID) -> UInt16? {
        valueHandles[characteristic]
    }

    package func cccdHandle(of value: UInt16) -> UInt16? {
        attributes.first {
            if case .cccd(of: value, _) = $0.content { true } else { false }
        }?.handle
    }

    func attributes(in range: ATTHandleRange) -> ArraySlice<Attribute> {
        attributes.drop { $0.handle < range.first }.prefix { $0.handle <= range.last }
    }

    private static func standardServices(name: String) -> [LocalService] {
        let shortName = Array(name.utf8.prefix(248))
        return [
            LocalService(
                uuid: genericAccess,
                characteristics: [
                    LocalCharacteristic(uuid: deviceName, properties: .read, constant: shortName),
                    // 0x0000: unknown appearance.
                    LocalCharacteristic(uuid: appearance, properties: .read, constant: [0, 0]),
                ]),
            LocalService(
                uuid: genericAttribute,
                characteristics: [
                    LocalCharacteristic(uuid: serviceChanged, properties: .indicate, constant: [])
                ]),
        ]
    }
}

extension GATTTable {
    private struct Builder {
        var attributes: [Attribute] = []
        var valueHandles: [BluetoothUUID: UInt16] = [:]
        private var next = 1

        mutating func add(_ service: LocalService) throws(LinkError) {
            let handle = try assign(service.handle, "service \(service.uuid)")
            let index = attributes.count
            attributes.append(
                Attribute(
                    handle: handle, type: service.isPrimary ? primaryService : secondaryService, content: .fixed([])))
            for included in service.includes { try add(included) }
            for characteristic in service.characteristics { try add(characteristic) }
            let last = UInt16(next - 1)
            guard (service.end ?? last) >= last else {
                throw LinkError(
                    .invalidState,
                    "service \(service.uuid) ends at handle \(service.end ?? 0) before its last attribute at \(last)")
            }
            attributes[index] = Attribute(
                handle: handle, type: attributes[index].type,
                content: .service(service.uuid, end: service.end ?? last))
            next = Int(service.end ?? last) + 1
        }

        private mutating func assign(_ requested: UInt16?, _ item: String) throws(LinkError) -> UInt16 {
            guard let handle = requested ?? UInt16(exactly: next) else {
                throw LinkError(.invalidState, "\(item) does not fit: a table has at most 65535 attributes")
            }
            guard handle >= next else {
                throw LinkError(
                    .invalidState, "\(item) has the handle \(handle), but handles up to \(next - 1) are in use")
            }
            next = Int(handle) + 1
            return handle
        }

        private mutating func add(_ included: LocalInclude) throws(LinkError) {
            var declaration: [UInt8] = []
            declaration.append(littleEndian: included.start)
            declaration.append(littleEndian: included.end)
            // The declaration has no 128-bit UUID: the client reads it from the included service (Vol 3 Part G, 3.2).
            if let short = included.uuid?.short { declaration.append(littleEndian: short) }
            attributes.append(
                Attribute(
                    handle: try assign(included.handle, "an include"), type: include, content: .fixed(declaration)))
        }

        private mutating func add(_ local: LocalCharacteristic) throws(LinkError) {
            guard valueHandles[local.id] == nil else {
                throw LinkError(.invalidState, "characteristic \(local.id) occurs twice; its identifier must be unique")
            }
            guard local.constant?.count ?? 0 <= ATTPDU.maximumValueLength,
                local.userDescription?.utf8.count ?? 0 <= ATTPDU.maximumValueLength
            else {
                throw LinkError(.invalidState, "a value of characteristic \(local.uuid) is longer than 512 bytes")
            }
            let declarationHandle = try assign(local.declaration, "characteristic \(local.uuid)")
            let valueHandle = try assign(local.handle, "the value of characteristic \(local.uuid)")
            var declaration = [local.properties.rawValue]
            declaration.append(littleEndian: valueHandle)
            attributes.append(
                Attribute(
                    handle: declarationHandle, type: characteristic,
                    content: .fixed(declaration + local.uuid.littleEndian)))
            attributes.append(Attribute(handle: valueHandle, type: local.uuid, content: .value(local)))
            valueHandles[local.id] = valueHandle
            if local.needsCCCD {
                try append(cccd, .cccd(of: valueHandle, local.properties), nil)
            }
            if let text = local.userDescription { try append(userDescription, .fixed(Array(text.utf8)), nil) }
            for descriptor in local.descriptors { try add(descriptor, of: valueHandle, local) }
        }

        private mutating func add(_ descriptor: LocalDescriptor, of valueHandle: UInt16, _ local: LocalCharacteristic)
            throws(LinkError)
        {
            guard descriptor.uuid != cccd else {
                try append(cccd, .cccd(of: valueHandle, local.properties), descriptor.handle)
                return
            }
            guard valueHandles[descriptor.id] == nil else {
                throw LinkError(
                    .invalidState, "descriptor \(descriptor.id) occurs twice; its identifier must be unique")
            }
            var attribute = LocalCharacteristic(uuid: descriptor.uuid, properties: [.read, .write])
            attribute.id = descriptor.id
            valueHandles[descriptor.id] = try append(descriptor.uuid, .value(attribute), descriptor.handle)
        }

        @discardableResult
        private mutating func append(_ type: BluetoothUUID, _ content: Content, _ requested: UInt16?) throws(LinkError)
            -> UInt16
        {
            let handle = try assign(requested, "descriptor \(type)")
            attributes.append(Attribute(handle: handle, type: type, content: content))
            return handle
        }
    }
}

extension LocalCharacteristic {
    var canBeSubscribed: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
    /// Whether the link adds a Client Characteristic Configuration: the application has none and sets no handles.
    var needsCCCD: Bool {
        canBeSubscribed && handle == nil && !descriptors.contains { $0.uuid == GATTTable.cccd }
    }
}
