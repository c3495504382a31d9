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

    /// The fields of a message. Of a repeated field, `number` and `bytes` return the last value.
    struct Fields {
        private var all: [(field: Int, value: ProtobufReader.Value)] = []

        init(_ bytes: some Sequence<UInt8>) throws(ProtobufReader.Malformed) {
            var reader = ProtobufReader(bytes)
            while let found = try reader.next() { all.append(found) }
        }

        private func integer(_ field: Int) -> UInt64 {
            for case (field, .number(let number)) in all.reversed() { return number }
            return 0
        }

        /// A signed 32-bit integer.
        func number(_ field: Int) -> Int { Int(Int32(truncatingIfNeeded: integer(field))) }
        /// A zigzag-encoded integer.
        func zigzag(_ field: Int) -> Int {
            let value = integer(field)
            return Int(truncatingIfNeeded: value >> 1) ^ -Int(value & 1)
        }
        func bytes(_ field: Int) -> [UInt8] { repeated(field).last.map(Array.init) ?? [] }
        func text(_ field: Int) -> String { String(decoding: bytes(field), as: UTF8.self) }
        func repeated(_ field: Int) -> [ArraySlice<UInt8>] {
            all.compactMap { if case (field, .bytes(let part)) = $0 { part } else { nil } }
        }
        var address: BluetoothAddress { BluetoothAddress(integer(1)) }
        var handle: UInt16 { UInt16(truncatingIfNeeded: integer(2)) }

        /// The UUID in two halves in field 1. From API version 1.12 on, UUIDs of 16 and 32 bits are in `short`.
        func uuid(short: Int) throws(ProtobufReader.Malformed) -> BluetoothUUID {
            var halves: [UInt64] = []
            for (field, value) in all where field == 1 {
                switch value {
                case .number(let half): halves.append(half)
                case .bytes(let packed): halves += try ProtobufReader.packed(packed)
                }
            }
            if halves.count >= 2 { return BluetoothUUID(high: halves[0], low: halves[1]) }
            return BluetoothUUID(high: integer(short) << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
        }
    }
}
