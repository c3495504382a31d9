/// HCI events (Core 5.4, Vol 4 Part E, 7.7).
extension HCIHost {
    mutating func take(_ type: UInt8, _ packet: [UInt8], _ effects: inout [Effect]) {
        switch type {
        case 4: event(packet[0], packet[2...], &effects)
        case 2: acl(packet, &effects)
        // Commands and synchronous data are not expected from a controller.
        default: break
        }
    }

    private mutating func event(_ code: UInt8, _ body: ArraySlice<UInt8>, _ effects: inout [Effect]) {
        let bytes = Array(body)
        func word(_ at: Int) -> UInt16 { UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8 }
        switch code {
        // Command Complete, Command Status.
        case 0x0E where bytes.count >= 4: answered(word(1), status: bytes[3], bytes[4...], &effects)
        case 0x0F where bytes.count >= 4: answered(word(2), status: bytes[0], [], &effects)
        // Disconnection Complete.
        case 0x05 where bytes.count >= 4 && bytes[0] == 0: end(word(1) & 0x0FFF, reason: bytes[3], &effects)
        // Number of Completed Packets.
        case 0x13 where !bytes.isEmpty:
            for index in 0..<Int(bytes[0]) where 1 + 4 * index + 4 <= bytes.count {
                let handle = word(1 + 4 * index) & 0x0FFF, count = Int(word(3 + 4 * index))
                let gone = min(count, connections[handle]?.inFlight ?? 0)
                connections[handle]?.inFlight -= gone
                inFlight = max(0, inFlight - gone)
            }
            flush(&effects)
        // Hardware Error.
        case 0x10:
            isOpen = false
            effects.append(.broken("the controller reported a hardware error"))
        case 0x3E where !bytes.isEmpty: leEvent(bytes, &effects)
        default: break
        }
    }

    private mutating func leEvent(_ bytes: [UInt8], _ effects: inout [Effect]) {
        func word(_ at: Int) -> UInt16 { UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8 }
        switch bytes[0] {
        // LE Connection Complete, LE Enhanced Connection Complete.
        case 0x01 where bytes.count >= 12, 0x0A where bytes.count >= 12:
            // Unknown Connection Identifier: the end of a cancelled attempt.
            guard bytes[1] != 0x02 else { return }
            guard bytes[1] == 0 else { return effects.append(.connectFailed(status: bytes[1])) }
            let handle = word(2) & 0x0FFF
            guard connections.count < Self.mostConnections,
                let peer = BluetoothAddress(littleEndian: Array(bytes[6..<12]))
            else { return }
            if connections[handle] != nil { end(handle, reason: 0x08, &effects) }
            connections[handle] = Connection()
            effects.append(.connected(handle, peer, isCentral: bytes[4] == 0))
        // LE Advertising Report: a count, then type, address type, address, length, data and RSSI of each.
        case 0x02 where bytes.count >= 2:
            var at = 2
            for _ in 0..<bytes[1] where at + 9 <= bytes.count {
                let length = Int(bytes[at + 8])
                guard at + 9 + length + 1 <= bytes.count,
                    let address = BluetoothAddress(littleEndian: Array(bytes[(at + 2)..<(at + 8)]))
                else { return }
                let rssi = Int8(bitPattern: bytes[at + 9 + length])
                effects.append(
                    .advertised(
                        Sighting(
                            address: address, isRandom: bytes[at + 1] & 1 != 0, rssi: rssi == 127 ? nil : Int(rssi),
                            data: Array(bytes[(at + 9)..<(at + 9 + length)]))))
                at += 10 + length
            }
        // LE Extended Advertising Report. Contains: count, then type (2 bytes), address type, address, two PHYs, set,
        // power, RSSI, interval (2 bytes), direct address (7 bytes), length, data of each.
        case 0x0D where bytes.count >= 2:
            var at = 2
            for _ in 0..<bytes[1] where at + 24 <= bytes.count {
                let length = Int(bytes[at + 23])
                guard at + 24 + length <= bytes.count,
                    let address = BluetoothAddress(littleEndian: Array(bytes[(at + 3)..<(at + 9)]))
                else { return }
                let rssi = Int8(bitPattern: bytes[at + 13]), kind = bytes[at + 2]
                // An anonymous advertisement cannot be connected to.
                if kind != 0xFF {
                    effects.append(
                        .advertised(
                            Sighting(
                                address: address, isRandom: kind & 1 != 0, rssi: rssi == 127 ? nil : Int(rssi),
                                data: Array(bytes[(at + 24)..<(at + 24 + length)]))))
                }
                at += 24 + length
            }
        // LE Long Term Key Request: reply that there is none. The bottle does not pair.
        case 0x05 where bytes.count >= 3: command(0x201B, Array(bytes[1...2]), &effects)
        default: break
        }
    }

    private mutating func end(_ handle: UInt16, reason: UInt8, _ effects: inout [Effect]) {
        guard let gone = connections.removeValue(forKey: handle) else { return }
        inFlight = max(0, inFlight - gone.inFlight)
        effects.append(.disconnected(handle, reason: reason))
        flush(&effects)
    }
}
