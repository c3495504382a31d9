/// HCI events (Core 5.4, Vol 4 Part E, 7.7).
extension HCIHost {
    mutating func receivePacket(_ type: UInt8, _ packet: [UInt8]) {
        switch type {
        case 4: receiveEvent(packet[0], packet[2...])
        case 2: receiveACL(packet)
        // Commands and synchronous data are not expected from a controller.
        default: break
        }
    }

    private mutating func receiveEvent(_ code: UInt8, _ body: ArraySlice<UInt8>) {
        let bytes = Array(body)
        switch code {
        // Command Complete, Command Status.
        case 0x0E where bytes.count >= 4: handleCommandResult(bytes.uint16(at: 1), status: bytes[3], bytes[4...])
        case 0x0F where bytes.count >= 4: handleCommandResult(bytes.uint16(at: 2), status: bytes[0], [])
        // Disconnection Complete.
        case 0x05 where bytes.count >= 4 && bytes[0] == 0: endConnection(bytes.uint16(at: 1) & 0x0FFF, reason: bytes[3])
        // Number of Completed Packets.
        case 0x13 where !bytes.isEmpty:
            for index in 0..<Int(bytes[0]) where 1 + 4 * index + 4 <= bytes.count {
                let handle = bytes.uint16(at: 1 + 4 * index) & 0x0FFF, count = Int(bytes.uint16(at: 3 + 4 * index))
                let completed = min(count, connections[handle]?.inFlight ?? 0)
                connections[handle]?.inFlight -= completed
                inFlight = max(0, inFlight - completed)
            }
            flush()
        // Hardware Error.
        case 0x10:
            isOpen = false
            effects.append(.failed("the controller reported a hardware error"))
        case 0x3E where !bytes.isEmpty: receiveLEEvent(bytes)
        default: break
        }
    }

    private mutating func receiveLEEvent(_ bytes: [UInt8]) {
        switch bytes[0] {
        // LE Connection Complete, LE Enhanced Connection Complete.
        case 0x01 where bytes.count >= 12, 0x0A where bytes.count >= 12:
            // Unknown Connection Identifier: the end of a cancelled attempt.
            guard bytes[1] != 0x02 else { return }
            guard bytes[1] == 0 else { return effects.append(.connectFailed(status: bytes[1])) }
            let handle = bytes.uint16(at: 2) & 0x0FFF
            guard connections.count < Self.maximumConnections,
                let peer = BluetoothAddress(littleEndian: Array(bytes[6..<12]))
            else { return }
            if connections[handle] != nil { endConnection(handle, reason: 0x08) }
            connections[handle] = Connection()
            effects.append(.connected(handle, peer, isCentral: bytes[4] == 0))
        // LE Advertising Report, LE Extended Advertising Report. An anonymous advertiser accepts no connections.
        case 0x02, 0x0D:
            for report in AdvertisingReport.all(in: bytes.span.bytes) where report.addressType != 0xFF {
                effects.append(
                    .advertised(
                        ReceivedReport(
                            address: report.address, isRandom: report.addressType & 1 != 0,
                            rssi: report.rssi == 127 ? nil : Int(report.rssi), data: Array(bytes[report.data]))))
            }
        // LE Long Term Key Request: reply that there is none. The bottle does not pair.
        case 0x05 where bytes.count >= 3: command(0x201B, Array(bytes[1...2]))
        default: break
        }
    }

    private mutating func endConnection(_ handle: UInt16, reason: UInt8) {
        guard let connection = connections.removeValue(forKey: handle) else { return }
        inFlight = max(0, inFlight - connection.inFlight)
        effects.append(.disconnected(handle, reason: reason))
        flush()
    }
}
