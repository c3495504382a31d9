// AD structures: `length type data`* (Core 5.4, Vol 3 Part C, 11; types in the Assigned Numbers, 2.3).

extension AdvertisingBytes {
    /// Flags (general discoverable, no BR/EDR) and the 16-bit service UUIDs that fit. The scan response has the name,
    /// up to 29 bytes.
    package init(name: String, services: [BluetoothUUID]) {
        let shorts = services.compactMap(\.short).prefix(13)
        var data: [UInt8] = [2, 0x01, 0x06]
        if !shorts.isEmpty {
            data += [UInt8(1 + 2 * shorts.count), 0x03]
            for short in shorts { data += [UInt8(truncatingIfNeeded: short), UInt8(short >> 8)] }
        }
        var text = name
        while text.utf8.count > 29 { text.removeLast() }
        let response = text.isEmpty ? [] : [UInt8(1 + text.utf8.count), text == name ? 0x09 : 0x08] + Array(text.utf8)
        self.init(data: data, scanResponse: response)
    }
}

extension Advertisement {
    package mutating func take(_ data: [UInt8]) {
        var at = 0
        while at + 1 < data.count {
            let length = Int(data[at])
            guard length > 0, at + length < data.count else { return }
            let body = Array(data[(at + 2)..<(at + 1 + length)])
            switch data[at + 1] {
            case 0x09: name = String(decoding: body, as: UTF8.self)
            case 0x08 where name == nil: name = String(decoding: body, as: UTF8.self)
            case 0x02, 0x03:
                learn(
                    stride(from: 0, to: body.count - 1, by: 2).map {
                        BluetoothUUID(UInt16(body[$0]) | UInt16(body[$0 + 1]) << 8)
                    })
            case 0x06, 0x07:
                learn(
                    stride(from: 0, to: body.count - 15, by: 16).compactMap {
                        BluetoothUUID(littleEndian: Array(body[$0..<($0 + 16)]))
                    })
            default: break
            }
            at += 1 + length
        }
    }

    private mutating func learn(_ found: [BluetoothUUID]) {
        for uuid in found where !services.contains(uuid) { services.append(uuid) }
    }
}
