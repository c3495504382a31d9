package import Bluetooth
import BottleProtocol

/// The attributes of one GATT server, as far as the discovery in a capture shows them.
///
/// Handles belong to the server that assigned them. Both ends of a connection can be servers. A class, because a
/// connection shares its table with its peer and with later connections.
package final class AttributeTable {
    /// A characteristic. The key in `characteristics` is its value handle.
    package struct Characteristic: Sendable, Equatable {
        package var uuid: BluetoothUUID
        package var properties: CharacteristicProperties
    }

    package struct Service: Sendable, Equatable {
        package var uuid: BluetoothUUID
        package var start: UInt16
        package var end: UInt16
    }

    package private(set) var characteristics: [UInt16: Characteristic] = [:]
    package private(set) var services: [UInt16: Service] = [:]
    /// The types of all attributes by handle, including descriptors.
    package private(set) var types: [UInt16: BluetoothUUID] = [:]
    /// The handles of characteristics that had the UUID of a bottle's response characteristic.
    private var responseHandles: Set<UInt16> = []
    private static let responseTypes = Set(BottleProfile.allCases.map { BluetoothUUID($0.responseCharacteristic) })

    package var isEmpty: Bool { characteristics.isEmpty && types.isEmpty && services.isEmpty }

    /// The type of the attribute at a handle. The type of a characteristic value is the characteristic's UUID.
    package func type(at handle: UInt16) -> BluetoothUUID? { characteristics[handle]?.uuid ?? types[handle] }

    package func service(at handle: UInt16) -> Service? {
        services.values.first { $0.start <= handle && handle <= $0.end }
    }

    var hasBottle: Bool {
        responseHandles.contains { handle in
            BottleProfile.allCases.contains {
                characteristics[handle]?.uuid == BluetoothUUID($0.responseCharacteristic)
                    && isIn($0.responseService, handle)
            }
        }
    }

    /// Whether the handle is in the service with this UUID, or in no known service. Other devices use the same
    /// characteristic UUIDs in other services.
    func isIn(_ service: UInt16, _ handle: UInt16) -> Bool {
        guard let found = self.service(at: handle) else { return true }
        return found.uuid == BluetoothUUID(service)
    }

    /// Adds discovered attributes.
    /// - Returns: whether the table stores any of them.
    func add(_ attributes: [DiscoveredAttribute]) -> Bool {
        var hasAdded = false
        for attribute in attributes {
            switch attribute {
            case .service(let range, let uuid, isSecondary: false):
                services[range.first] = Service(uuid: uuid, start: range.first, end: range.last)
            case .characteristic(_, let handle, let uuid, let properties):
                characteristics[handle] = Characteristic(uuid: uuid, properties: properties)
                if Self.responseTypes.contains(uuid) { responseHandles.insert(handle) }
            case .attribute(let handle, let type): types[handle] = type
            case .service, .include: continue
            }
            hasAdded = true
        }
        return hasAdded
    }
}

/// An attribute in the response to a discovery request.
enum DiscoveredAttribute {
    case service(ATTHandleRange, BluetoothUUID, isSecondary: Bool)
    case include(handle: UInt16, ATTHandleRange, BluetoothUUID?)
    case characteristic(declaration: UInt16, handle: UInt16, BluetoothUUID, CharacteristicProperties)
    /// An attribute of any kind, with its type.
    case attribute(handle: UInt16, type: BluetoothUUID)
}

extension ATTPDU {
    /// Whether this is the response to a request. A response does not repeat the handle or type of its request, and ATT
    /// allows one request at a time for each client (Core 5.4, Vol 3 Part F, 3.3.2).
    func isResponse(to request: ATTPDU) -> Bool {
        if case .errorResponse(let rejected, _, _) = self { return rejected == request.opcode }
        return opcode == request.opcode.response
    }

    /// Whether this is a Read Blob request for the next part of a value.
    func continuesRead(of handle: UInt16, after count: Int) -> Bool {
        guard case .readBlobRequest(handle: handle, let offset) = self else { return false }
        return Int(offset) == count
    }

    /// The attributes in the response to a discovery request.
    func attributes(foundBy request: ATTPDU) -> [DiscoveredAttribute] {
        switch (self, request) {
        case (.readByTypeResponse(let items), .readByTypeRequest(_, type: GATTTable.characteristic)):
            items.compactMap { item in
                guard item.value.count >= 5, let uuid = BluetoothUUID(littleEndian: item.value[3...]) else {
                    return nil
                }
                return .characteristic(
                    declaration: item.handle, handle: item.value.uint16(at: 1), uuid,
                    CharacteristicProperties(rawValue: item.value[0]))
            }
        case (.readByTypeResponse(let items), .readByTypeRequest(_, type: GATTTable.include)):
            items.compactMap { item in
                // Only a UUID of 2 bytes is in the declaration.
                guard item.value.count == 4 || item.value.count == 6 else { return nil }
                let range = ATTHandleRange(item.value.uint16(at: 0), item.value.uint16(at: 2))
                return .include(handle: item.handle, range, BluetoothUUID(littleEndian: item.value[4...]))
            }
        case (.readByTypeResponse(let items), .readByTypeRequest(_, let type)) where !type.isDeclaration:
            items.map { .attribute(handle: $0.handle, type: type) }
        case (.readByGroupTypeResponse(let groups), .readByGroupTypeRequest(_, let type))
        where type == GATTTable.primaryService || type == GATTTable.secondaryService:
            groups.compactMap { group in
                BluetoothUUID(littleEndian: group.value).map {
                    .service(
                        ATTHandleRange(group.handle, group.end), $0, isSecondary: type == GATTTable.secondaryService)
                }
            }
        case (.findByTypeValueResponse(let ranges), .findByTypeValueRequest(_, type: 0x2800, let value)):
            BluetoothUUID(littleEndian: value).map { uuid in
                ranges.map { .service($0, uuid, isSecondary: false) }
            } ?? []
        case (.findInformationResponse(let list), .findInformationRequest):
            list.map { .attribute(handle: $0.handle, type: $0.type) }
        default: []
        }
    }
}

extension BluetoothUUID {
    /// Whether this is the type of a declaration: of a service, an include or a characteristic.
    var isDeclaration: Bool { short.map { (0x2800...0x2803).contains($0) } ?? false }
}

extension RawSpan {
    /// Multiple Handle Value Notification: `23 ( handle(2) length(2) value )*`. The last value can be incomplete.
    func forEachNotification(_ body: (UInt16, RawSpan) throws -> Void) rethrows {
        var at = 1
        while let handle = little16(at: at), let length = little16(at: at + 2) {
            let end = min(byteCount, at + 4 + Int(length))
            try body(handle, extracting((at + 4)..<end))
            at = end
        }
    }
}

/// A value that is transferred in parts (Read Blob, Prepare Write).
struct PartialValue {
    /// The maximum length of a value: ATT offsets have 16 bits.
    static let longest = 65_536

    var handle: UInt16
    var bytes: [UInt8]
    var observation: ATTObservation
}
