// AD structures: `length type data`* (Core 5.4, Vol 3 Part C, 11; types in the Assigned Numbers, 2.3).

extension AdvertisingBytes {
    /// Flags (general discoverable, no BR/EDR) and the 16-bit service UUIDs that fit. The scan response has the name,
    /// up to 29 bytes.
    package init(name: String, services: [BluetoothUUID]) {
        let shorts = services.compactMap(\.short).prefix(13)
        var data: [UInt8] = [2, 0x01, 0x06]
        if !shorts.isEmpty {
            data += [UInt8(1 + 2 * shorts.count), 0x03]
            for short in shorts { data += short.littleEndianBytes(2) }
        }
        var text = name
        while text.utf8.count > 29 { text.removeLast() }
        let response = text.isEmpty ? [] : [UInt8(1 + text.utf8.count), text == name ? 0x09 : 0x08] + Array(text.utf8)
        self.init(data: data, scanResponse: response)
    }

    /// The structures of advertising data. A structure of length 0 or an incomplete one ends the list.
    package static func structures(_ data: [UInt8]) -> [(type: UInt8, data: [UInt8])] {
        var found: [(type: UInt8, data: [UInt8])] = []
        var offset = 0
        while offset < data.count, data[offset] > 0, offset + Int(data[offset]) < data.count {
            let end = offset + 1 + Int(data[offset])
            found.append((data[offset + 1], Array(data[(offset + 2)..<end])))
            offset = end
        }
        return found
    }

    /// The structures that fit into 31 bytes, in order.
    package static func fitting(_ data: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        var offset = 0
        while offset < data.count, offset + 1 + Int(data[offset]) <= data.count {
            let end = offset + 1 + Int(data[offset])
            if kept.count + end - offset <= 31 { kept += data[offset..<end] }
            offset = end
        }
        return kept
    }

    /// The HCI commands that start legacy advertising, connectable and scannable, on all channels, every 100 to 150 ms
    /// (Core 5.4, Vol 4 Part E, 7.8.5–7.8.9).
    package func startCommands(usesRandomAddress: Bool = false) -> [(opcode: UInt16, parameters: [UInt8])] {
        [
            (0x2006, [0xA0, 0, 0xF0, 0, 0, usesRandomAddress ? 1 : 0, 0, 0, 0, 0, 0, 0, 0, 7, 0]),
            (0x2008, Self.padded(data)), (0x2009, Self.padded(scanResponse)), (0x200A, [1]),
        ]
    }

    package static let stopCommands: [(opcode: UInt16, parameters: [UInt8])] = [(0x200A, [0])]

    /// The parameters of LE Set Advertising Data: a length and 31 bytes.
    private static func padded(_ data: [UInt8]) -> [UInt8] {
        let data = data.count > 31 ? fitting(data) : data
        return [UInt8(data.count)] + data + Array(repeating: 0, count: 31 - data.count)
    }
}

extension GATTApplication {
    /// The advertising data to send.
    package var advertised: AdvertisingBytes {
        advertisement ?? AdvertisingBytes(name: name, services: advertisedServices)
    }
}

extension Advertisement {
    package mutating func add(_ data: [UInt8]) {
        for (type, body) in AdvertisingBytes.structures(data) {
            switch type {
            case 0x09: name = String(decoding: body, as: UTF8.self)
            case 0x08 where name == nil: name = String(decoding: body, as: UTF8.self)
            case 0x02, 0x03: addServices(body, uuidSize: 2)
            case 0x06, 0x07: addServices(body, uuidSize: 16)
            default: break
            }
        }
    }

    private mutating func addServices(_ list: [UInt8], uuidSize: Int) {
        for start in stride(from: 0, through: list.count - uuidSize, by: uuidSize) {
            guard let uuid = BluetoothUUID(littleEndian: list[start..<(start + uuidSize)]) else { continue }
            if !services.contains(uuid) { services.append(uuid) }
        }
    }
}
