import Bluetooth

/// A message of an ESPHome device, as far as a Bluetooth proxy needs it. The numbers are those of its `api.proto`.
enum ProxyMessage: Hashable {
    case hello(major: Int, name: String)
    case authentication(isInvalid: Bool)
    /// The device is about to close the connection.
    case disconnectRequest
    case disconnectResponse
    case pingRequest
    case deviceInfo(ProxyFeatures)
    case advertisements([ProxySighting])
    case connection(BluetoothAddress, isConnected: Bool, mtu: Int, error: Int)
    case services(BluetoothAddress, [ProxyService])
    case servicesDone(BluetoothAddress)
    case read(BluetoothAddress, UInt16, [UInt8])
    case written(BluetoothAddress, UInt16)
    case notified(BluetoothAddress, UInt16, [UInt8])
    case subscribed(BluetoothAddress, UInt16)
    case failed(BluetoothAddress, UInt16, error: Int)
    case connectionsFree(free: Int, limit: Int)
    case cacheCleared(BluetoothAddress)
    /// A message of any other type, with the type's number.
    case other(Int)

    init(type: Int, _ bytes: [UInt8]) throws(ProtobufReader.Malformed) {
        switch type {
        case 5: self = .disconnectRequest
        case 6: self = .disconnectResponse
        case 7: self = .pingRequest
        case 67: self = .advertisements([try ProxySighting(advertisement: bytes[...])])
        case 71, 93:
            let fields = try Fields(bytes)
            if type == 71 {
                var found: [ProxyService] = []
                for inner in fields.repeated(2).prefix(256) { found.append(try ProxyService(inner)) }
                self = .services(fields.address, found)
            } else {
                var found: [ProxySighting] = []
                for inner in fields.repeated(1).prefix(256) { found.append(try ProxySighting(raw: inner)) }
                self = .advertisements(found)
            }
        default: self = try Self.plain(type, Fields(bytes))
        }
    }

    private static func plain(_ type: Int, _ fields: Fields) -> ProxyMessage {
        switch type {
        case 2: .hello(major: fields.number(1), name: fields.text(4))
        case 4: .authentication(isInvalid: fields.number(1) != 0)
        case 10: .deviceInfo(ProxyFeatures(flags: fields.number(15), legacyVersion: fields.number(11)))
        case 69:
            .connection(
                fields.address, isConnected: fields.number(2) != 0, mtu: fields.number(3), error: fields.number(4))
        case 72: .servicesDone(fields.address)
        case 74: .read(fields.address, fields.handle, fields.bytes(3))
        case 79: .notified(fields.address, fields.handle, fields.bytes(3))
        case 81: .connectionsFree(free: fields.number(1), limit: fields.number(2))
        case 82: .failed(fields.address, fields.handle, error: fields.number(3))
        case 83: .written(fields.address, fields.handle)
        case 84: .subscribed(fields.address, fields.handle)
        case 88: .cacheCleared(fields.address)
        default: .other(type)
        }
    }

    struct Fields {
        private var numbers: [Int: UInt64] = [:]
        private var parts: [(field: Int, bytes: ArraySlice<UInt8>)] = []

        init(_ bytes: some Sequence<UInt8>) throws(ProtobufReader.Malformed) {
            var reader = ProtobufReader(bytes)
            while let (field, value) = try reader.next() {
                switch value {
                case .number(let number): numbers[field] = number
                case .bytes(let part): parts.append((field, part))
                }
            }
        }

        /// A signed 32-bit integer.
        func number(_ field: Int) -> Int { Int(Int32(truncatingIfNeeded: numbers[field] ?? 0)) }
        /// A zigzag-encoded integer.
        func zigzag(_ field: Int) -> Int {
            let value = numbers[field] ?? 0
            return Int(truncatingIfNeeded: value >> 1) ^ -Int(value & 1)
        }
        func bytes(_ field: Int) -> [UInt8] { parts.last { $0.field == field }.map { Array($0.bytes) } ?? [] }
        func text(_ field: Int) -> String { String(decoding: bytes(field), as: UTF8.self) }
        func repeated(_ field: Int) -> [ArraySlice<UInt8>] { parts.filter { $0.field == field }.map(\.bytes) }
        var address: BluetoothAddress { BluetoothAddress(numbers[1] ?? 0) }
        var handle: UInt16 { UInt16(truncatingIfNeeded: numbers[2] ?? 0) }
    }
}
