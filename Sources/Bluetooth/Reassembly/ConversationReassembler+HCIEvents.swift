// HCI events about connections: `code(1) length(1) parameters` (Core 5.4, Vol 4 Part E, 5.4.4 and 7.7).

extension ConversationReassembler {
    mutating func receiveEvent(_ packet: CapturePacket, _ bytes: RawSpan, _ emit: ConversationHandler) rethrows {
        guard bytes.byteCount >= 2, !packet.isTruncated else { return }
        let parameters = bytes.extracting(2..<min(bytes.byteCount, 2 + Int(bytes.u8(1))))
        switch bytes.u8(0) {
        case 0x3E: try receiveLEMeta(packet, parameters, emit)
        case 0x05 where parameters.byteCount >= 4 && parameters.u8(0) == 0:
            // Disconnection Complete: status, handle(2), reason.
            let handle = UInt32(parameters.u16(1) & 0x0FFF)
            try close(ConnectionTable.key(adapter: packet.adapter, handle: handle), reason: parameters.u8(3), emit)
        case 0x03 where parameters.byteCount >= 10 && parameters.u8(0) == 0 && parameters.u8(9) == 1:
            // Connection Complete of BR/EDR: status, handle(2), address(6), link type (1 ACL).
            let handle = UInt32(parameters.u16(1) & 0x0FFF)
            let key = ConnectionTable.key(adapter: packet.adapter, handle: handle)
            try close(key, reason: nil, emit)
            let slot = try add(key, adapter: packet.adapter, handle: handle, isHCI: true, emit)
            table.slots[slot].isClassic = true
            table.slots[slot].observed.peer = parameters.address(3)
        case 0x0E where parameters.byteCount >= 4 && parameters.u16(1) == 0x0C03 && parameters.u8(3) == 0:
            // Command Complete of Reset ends all connections.
            try reset(adapter: packet.adapter, emit)
        default: break
        }
    }

    private mutating func receiveLEMeta(_ packet: CapturePacket, _ parameters: RawSpan, _ emit: ConversationHandler)
        rethrows
    {
        guard parameters.byteCount >= 1 else { return }
        switch parameters.u8(0) {
        case 0x01, 0x0A, 0x29:
            // LE Connection Complete, Enhanced, Enhanced v2: subevent, status, handle(2), role, peer's address type and
            // address(6).
            guard parameters.byteCount >= 12, parameters.u8(1) == 0 else { return }
            let handle = UInt32(parameters.u16(2) & 0x0FFF)
            let key = ConnectionTable.key(adapter: packet.adapter, handle: handle)
            let peer = parameters.address(6)
            if let slot = table.find(key), !table.slots[slot].hasTraffic, !table.slots[slot].isClassic,
                table.slots[slot].observed.peer == peer
            {
                // The same connection, reported as Connection Complete and as Enhanced Connection Complete.
                return
            }
            // A reused handle ends the last connection with this handle.
            try close(key, reason: nil, emit)
            let slot = try add(key, adapter: packet.adapter, handle: handle, isHCI: true, emit)
            table.slots[slot].observed.isCentral = parameters.u8(4) == 0
            // Address types 1 and 3 are random (3: a random identity address, resolved).
            table.slots[slot].observed.isPeerRandom = parameters.u8(5) & 1 == 1
            table.slots[slot].observed.peer = peer
            try emitConnected(slot, emit)
        case 0x02, 0x0D:
            for report in AdvertisingReport.all(in: parameters) {
                try emit(
                    .advertised(
                        ObservedAdvertiser(
                            frame: packet.number, time: packet.time, address: report.address,
                            isRandom: report.addressType & 1 == 1, rssi: report.rssi,
                            isScanResponse: report.isScanResponse)),
                    parameters.extracting(report.data))
            }
        default: break
        }
    }
}
