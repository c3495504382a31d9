package import Bluetooth
import BottleProtocol

/// The attributes of one GATT server, as far as the discovery in a capture shows them.
///
/// Handles belong to the server that assigned them. Both ends of a connection can be servers.
package struct AttributeTable: Sendable, Equatable {
    /// A characteristic. The key in `characteristics` is its value handle.
    package struct Characteristic: Sendable, Equatable {
        package var uuid: BluetoothUUID
        package var properties: CharacteristicProperties
        package var declaration: UInt16
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

    package init() {}

    package var isEmpty: Bool { characteristics.isEmpty && types.isEmpty && services.isEmpty }

    /// The type of the attribute at a handle. The type of a characteristic value is the characteristic's UUID.
    package func type(at handle: UInt16) -> BluetoothUUID? { characteristics[handle]?.uuid ?? types[handle] }

    package func service(at handle: UInt16) -> Service? {
        services.values.first { $0.start <= handle && handle <= $0.end }
    }

    var hasBottle: Bool {
        characteristics.contains { handle, characteristic in
            BottleProfile.allCases.contains {
                characteristic.uuid == BluetoothUUID($0.responseCharacteristic) && isIn($0.responseService, handle)
            }
        }
    }

    /// Whether the handle is in the service with this UUID, or in no known service. Other devices use the same
    /// characteristic UUIDs in other services.
    func isIn(_ service: UInt16, _ handle: UInt16) -> Bool {
        guard let found = self.service(at: handle) else { return true }
        return found.uuid == BluetoothUUID(service)
    }

    /// Adds the attributes in the response to a discovery request.
    /// - Returns: whether the response has any.
    mutating func addAttributes(from answer: RawSpan, to request: PendingRequest) -> Bool {
        switch (answer.first, request.type) {
        case (0x09?, 0x2803?):
            return answer.forEachItem(of: [7, 21]) { item in
                guard let declaration = item.little16(at: 0), let value = item.little16(at: 3),
                    let uuid = item.uuid(from: 5)
                else { return }
                characteristics[value] = Characteristic(
                    uuid: uuid, properties: CharacteristicProperties(rawValue: item.byte(2)), declaration: declaration)
            }
        case (0x09?, 0x2800?), (0x09?, 0x2801?), (0x09?, 0x2802?): return false
        case (0x09?, let type?):
            return answer.forEachItem { item in if let handle = item.little16(at: 0) { types[handle] = type } }
        case (0x11?, 0x2800?):
            return answer.forEachItem(of: [6, 20]) { item in add(service: item.uuid(from: 4), item) }
        case (0x07?, 0x2800?):
            return answer.forEachItem(ofSize: 4, from: 1) { item in add(service: request.value, item) }
        case (0x05?, nil):
            return answer.forEachInformation { handle, uuid in types[handle] = uuid }
        default: return false
        }
    }

    private mutating func add(service uuid: BluetoothUUID?, _ item: RawSpan) {
        guard let uuid, let start = item.little16(at: 0), let end = item.little16(at: 2) else { return }
        services[start] = Service(uuid: uuid, start: start, end: end)
    }
}

extension RawSpan {
    /// Iterates over the items of a response `opcode n item*`, each of n bytes, if n is one of `sizes`.
    /// - Returns: whether there was an item.
    func forEachItem(of sizes: [Int]? = nil, _ body: (RawSpan) -> Void) -> Bool {
        guard byteCount >= 2, byte(1) >= 2, sizes?.contains(Int(byte(1))) ?? true else { return false }
        return forEachItem(ofSize: Int(byte(1)), from: 2, body)
    }

    func forEachItem(ofSize size: Int, from start: Int, _ body: (RawSpan) -> Void) -> Bool {
        var at = start
        while at + size <= byteCount {
            body(extracting(at..<at + size))
            at += size
        }
        return at > start
    }

    /// Multiple Handle Value Notification: `23 ( handle(2) length(2) value )*`. The last value can be incomplete.
    func forEachNotification(_ body: (UInt16, RawSpan) throws -> Void) rethrows {
        var at = 1
        while let handle = little16(at: at), let length = little16(at: at + 2) {
            let end = min(byteCount, at + 4 + Int(length))
            try body(handle, extracting((at + 4)..<end))
            at = end
        }
    }

    /// Find Information Response: `05 format ( handle(2) uuid(2 or 16) )*`.
    func forEachInformation(_ body: (UInt16, BluetoothUUID) -> Void) -> Bool {
        guard byteCount >= 2, byte(1) == 1 || byte(1) == 2 else { return false }
        return forEachItem(ofSize: byte(1) == 1 ? 4 : 18, from: 2) { item in
            if let handle = item.little16(at: 0), let uuid = item.uuid(from: 2) { body(handle, uuid) }
        }
    }
}

/// A request whose response is still to come. ATT allows one at a time for each client (Core 5.4, Vol 3 Part F, 3.3.2).
/// A response does not repeat the handle or type of its request.
struct PendingRequest: Equatable {
    var opcode: UInt8
    var handle: UInt16?
    /// The offset of Read Blob and Prepare Write.
    var offset = 0
    var type: BluetoothUUID?
    var value: BluetoothUUID?

    /// Parses a request; `nil` for other PDUs and for truncated requests.
    init?(_ pdu: RawSpan) {
        guard let opcode = pdu.first else { return nil }
        self.opcode = opcode
        switch opcode {
        case 0x08, 0x10:
            type = pdu.uuid(from: 5)
            if type == nil { return nil }
        case 0x06:
            guard let type = pdu.little16(at: 5) else { return nil }
            (self.type, value) = (BluetoothUUID(type), pdu.uuid(from: 7))
        case 0x0A, 0x0C, 0x12, 0x16:
            guard let handle = pdu.little16(at: 1) else { return nil }
            self.handle = handle
            guard opcode == 0x0C || opcode == 0x16 else { break }
            guard let offset = pdu.little16(at: 3) else { return nil }
            self.offset = Int(offset)
        case 0x02, 0x04, 0x0E, 0x18, 0x20: break
        default: return nil
        }
    }

    /// Whether the PDU is the response: the next odd opcode, or an error response with the request's opcode.
    func isAnswered(by pdu: RawSpan) -> Bool {
        guard let opcode = pdu.first else { return false }
        return opcode == 0x01 ? pdu.byteCount < 2 || pdu.byte(1) == self.opcode : opcode == self.opcode + 1
    }

    /// Whether this is a Read Blob request for the next part of the value.
    func continues(_ value: PartialValue) -> Bool {
        opcode == 0x0C && handle == value.handle && offset == value.bytes.count
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
