import Bluetooth

/// A request that waits for its answer, on one bearer, from one client: ATT allows one at a time
/// (Core 5.4, Vol 3 Part F, 3.3.2). Answers do not repeat what was asked, so it must be remembered.
enum PendingRequest: Equatable {
    /// 08 with the attribute type asked for.
    case readByType(BluetoothUUID)
    /// 10 with the group type asked for.
    case readByGroupType(BluetoothUUID)
    /// 06 with type and value.
    case findByTypeValue(type: BluetoothUUID, value: BluetoothUUID?)
    /// 04.
    case findInformation
    /// 0A.
    case read(handle: UInt16)
    /// 0C.
    case readBlob(handle: UInt16, offset: Int)
    /// 16: a piece of a long write.
    case prepareWrite(handle: UInt16, offset: Int)
    /// 12.
    case write(handle: UInt16)
    /// Anything else that gets an answer.
    case other(opcode: UInt8)

    /// Reads a request PDU; `nil` when these bytes ask for no answer or are no whole request.
    init?(_ pdu: RawSpan) {
        guard let opcode = pdu.first else { return nil }
        switch opcode {
        case 0x08, 0x10:
            guard let type = pdu.uuid(from: 5) else { return nil }
            self = opcode == 0x08 ? .readByType(type) : .readByGroupType(type)
        case 0x06:
            guard let type = pdu.little16(at: 5) else { return nil }
            self = .findByTypeValue(type: BluetoothUUID(type), value: pdu.uuid(from: 7))
        case 0x04: self = .findInformation
        case 0x0A:
            guard let handle = pdu.little16(at: 1) else { return nil }
            self = .read(handle: handle)
        case 0x0C:
            guard let handle = pdu.little16(at: 1), let offset = pdu.little16(at: 3) else { return nil }
            self = .readBlob(handle: handle, offset: Int(offset))
        case 0x16:
            guard let handle = pdu.little16(at: 1), let offset = pdu.little16(at: 3) else { return nil }
            self = .prepareWrite(handle: handle, offset: Int(offset))
        case 0x12:
            guard let handle = pdu.little16(at: 1) else { return nil }
            self = .write(handle: handle)
        case 0x02, 0x0E, 0x18, 0x20: self = .other(opcode: opcode)
        default: return nil
        }
    }

    /// The opcode of this request.
    var opcode: UInt8 {
        switch self {
        case .readByType: 0x08
        case .readByGroupType: 0x10
        case .findByTypeValue: 0x06
        case .findInformation: 0x04
        case .read: 0x0A
        case .readBlob: 0x0C
        case .prepareWrite: 0x16
        case .write: 0x12
        case .other(let opcode): opcode
        }
    }

    /// The handle it names, where it names one.
    var handle: UInt16? {
        switch self {
        case .read(let handle), .readBlob(let handle, _), .prepareWrite(let handle, _), .write(let handle): handle
        default: nil
        }
    }

    /// Whether the opcode of an answer is this request's: the next odd number, or an error (01).
    func isAnswered(by opcode: ATTOpcode) -> Bool {
        opcode == .errorResponse || opcode.rawValue == self.opcode + 1
    }
}

extension AttributeTable {
    /// Learns what an answer tells; true when it told something.
    mutating func learn(from answer: RawSpan, to request: PendingRequest) -> Bool {
        switch (answer.first, request) {
        case (0x09?, .readByType(0x2803)): learnCharacteristics(answer)
        case (0x09?, .readByType(0x2802)), (0x09?, .readByType(0x2800)), (0x09?, .readByType(0x2801)): false
        case (0x09?, .readByType(let type)): learnTypes(answer, type)
        case (0x11?, .readByGroupType(0x2800)): learnServices(answer)
        case (0x07?, .findByTypeValue(type: 0x2800, value: let uuid?)): learnServices(answer, uuid)
        case (0x05?, .findInformation): learnInformation(answer)
        default: false
        }
    }

    /// `09 n ( declaration(2) properties(1) value(2) uuid(n−5) )*`, n = 7 or 21.
    private mutating func learnCharacteristics(_ answer: RawSpan) -> Bool {
        guard answer.byteCount >= 2, answer.byte(1) == 7 || answer.byte(1) == 21 else { return false }
        let size = Int(answer.byte(1))
        var at = 2
        while at + size <= answer.byteCount {
            guard let declaration = answer.little16(at: at), let value = answer.little16(at: at + 3),
                let uuid = answer.uuid(from: at + 5, to: at + size)
            else { break }
            learn(
                characteristic: Characteristic(
                    uuid: uuid, properties: CharacteristicProperties(rawValue: answer.byte(at + 2)),
                    declaration: declaration),
                value: value)
            at += size
        }
        return at > 2
    }

    /// `09 n ( handle(2) value(n−2) )*`: attributes of the type that was asked for.
    private mutating func learnTypes(_ answer: RawSpan, _ type: BluetoothUUID) -> Bool {
        guard answer.byteCount >= 2, answer.byte(1) >= 2 else { return false }
        let size = Int(answer.byte(1))
        var at = 2
        while at + size <= answer.byteCount {
            if let handle = answer.little16(at: at) { learn(type: type, at: handle) }
            at += size
        }
        return at > 2
    }

    /// `11 n ( start(2) end(2) uuid(n−4) )*`, n = 6 or 20.
    private mutating func learnServices(_ answer: RawSpan) -> Bool {
        guard answer.byteCount >= 2, answer.byte(1) == 6 || answer.byte(1) == 20 else { return false }
        let size = Int(answer.byte(1))
        var at = 2
        while at + size <= answer.byteCount {
            guard let start = answer.little16(at: at), let end = answer.little16(at: at + 2),
                let uuid = answer.uuid(from: at + 4, to: at + size)
            else { break }
            learn(service: Service(uuid: uuid, start: start, end: end))
            at += size
        }
        return at > 2
    }

    /// `07 ( start(2) end(2) )*`: groups of the service that was asked for.
    private mutating func learnServices(_ answer: RawSpan, _ uuid: BluetoothUUID) -> Bool {
        var at = 1
        while let start = answer.little16(at: at), let end = answer.little16(at: at + 2) {
            learn(service: Service(uuid: uuid, start: start, end: end))
            at += 4
        }
        return at > 1
    }

    /// `05 format ( handle(2) uuid(2 or 16) )*`.
    private mutating func learnInformation(_ answer: RawSpan) -> Bool {
        guard answer.byteCount >= 2, answer.byte(1) == 1 || answer.byte(1) == 2 else { return false }
        let size = answer.byte(1) == 1 ? 4 : 18
        var at = 2
        while at + size <= answer.byteCount {
            guard let handle = answer.little16(at: at), let uuid = answer.uuid(from: at + 2, to: at + size) else {
                break
            }
            learn(type: uuid, at: handle)
            at += size
        }
        return at > 2
    }
}
