import Bluetooth

/// A message of an ESPHome device, as far as a Bluetooth proxy needs it. The numbers are those of its `api.proto`.
enum ProxyMessage: Hashable {
    case hello(major: Int)
    case authentication(isInvalid: Bool)
    /// The device is about to close the connection.
    case disconnectRequest
    case disconnectResponse
    case pingRequest
    case deviceInfo(ProxyFeatures)
    case advertisements([ProxyAdvertisement])
    case connection(BluetoothAddress, isConnected: Bool, mtu: Int, error: Int)
    case services(BluetoothAddress, [ProxyService])
    case servicesDone(BluetoothAddress)
    case read(BluetoothAddress, UInt16, [UInt8])
    case written(BluetoothAddress, UInt16)
    case notified(BluetoothAddress, UInt16, [UInt8])
    case subscribed(BluetoothAddress, UInt16)
    case failed(BluetoothAddress, UInt16, error: Int)
    case connectionsFree(free: Int, limit: Int)
    case other

    init(type: Int, _ bytes: [UInt8]) throws(ProtobufMessage.Malformed) {
        let fields = try ProtobufMessage(bytes)
        switch type {
        case 2: self = .hello(major: fields.number(1))
        case 4: self = .authentication(isInvalid: fields.number(1) != 0)
        case 5: self = .disconnectRequest
        case 6: self = .disconnectResponse
        case 7: self = .pingRequest
        case 10: self = .deviceInfo(ProxyFeatures(rawValue: fields.number(15)))
        case 69:
            self = .connection(
                fields.address, isConnected: fields.number(2) != 0, mtu: fields.number(3), error: fields.number(4))
        case 71:
            var found: [ProxyService] = []
            for inner in fields.repeated(2).prefix(256) { found.append(try ProxyService(inner)) }
            self = .services(fields.address, found)
        case 72: self = .servicesDone(fields.address)
        case 74: self = .read(fields.address, fields.handle, fields.bytes(3))
        case 79: self = .notified(fields.address, fields.handle, fields.bytes(3))
        case 81: self = .connectionsFree(free: fields.number(1), limit: fields.number(2))
        case 82: self = .failed(fields.address, fields.handle, error: fields.number(3))
        case 83: self = .written(fields.address, fields.handle)
        case 84: self = .subscribed(fields.address, fields.handle)
        case 93:
            var found: [ProxyAdvertisement] = []
            for inner in fields.repeated(1).prefix(256) { found.append(try ProxyAdvertisement(inner)) }
            self = .advertisements(found)
        default: self = .other
        }
    }
}

extension ProtobufMessage {
    var address: BluetoothAddress { BluetoothAddress(integer(1)) }
    var handle: UInt16 { UInt16(truncatingIfNeeded: integer(2)) }

    /// The UUID in two halves in field 1. From API version 1.12 on, UUIDs of 16 and 32 bits are in `short`.
    func uuid(short: UInt64) throws(Malformed) -> BluetoothUUID {
        let halves = try integers(1)
        if halves.count >= 2 { return BluetoothUUID(high: halves[0], low: halves[1]) }
        return BluetoothUUID(uuid32: UInt32(truncatingIfNeeded: integer(short)))
    }
}
