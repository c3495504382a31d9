// HCI events about connections: `code(1) length(1) parameters` (Core 5.4, Vol 4 Part E, 5.4.4 and 7.7).

extension ConversationReassembler {
    mutating func receiveEvent(
        _ packet: CapturePacket, _ bytes: RawSpan, _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows {
        guard bytes.byteCount >= 2, !packet.isCut else { return }
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

    private mutating func receiveLEMeta(
        _ packet: CapturePacket, _ parameters: RawSpan, _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows {
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
            // Local copy: without optimisation, Swift 6.3.1 passes a wrong payload for a value from the subscript.
            let observed = table.slots[slot].observed
            try emit(.connected(observed), RawSpan())
        case 0x02: try receiveAdvertisingReports(packet, parameters, emit)
        case 0x0D: try receiveExtendedReports(packet, parameters, emit)
        default: break
        }
    }

    /// Count, then per report: event type, address type, address(6), length, data, RSSI.
    private func receiveAdvertisingReports(
        _ packet: CapturePacket, _ parameters: RawSpan, _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows {
        guard parameters.byteCount >= 2 else { return }
        var at = 2
        for _ in 0..<parameters.u8(1) {
            guard parameters.byteCount - at >= 10 else { return }
            let length = Int(parameters.u8(at + 8))
            guard parameters.byteCount - at >= 10 + length else { return }
            try emit(
                .advertised(
                    ObservedAdvertiser(
                        frame: packet.number, time: packet.time, address: parameters.address(at + 2),
                        isRandom: parameters.u8(at + 1) & 1 == 1,
                        rssi: Int8(bitPattern: parameters.u8(at + 9 + length)),
                        isScanResponse: parameters.u8(at) == 4)),
                parameters.extracting(at + 9..<at + 9 + length))
            at += 10 + length
        }
    }

    /// Count, then per report 24 bytes (type(2), address type, address(6), PHYs(2), set, power, RSSI, …, length), data.
    private func receiveExtendedReports(
        _ packet: CapturePacket, _ parameters: RawSpan, _ emit: (ConversationEvent, RawSpan) throws -> Void
    ) rethrows {
        guard parameters.byteCount >= 2 else { return }
        var at = 2
        for _ in 0..<parameters.u8(1) {
            guard parameters.byteCount - at >= 24 else { return }
            let length = Int(parameters.u8(at + 23))
            guard parameters.byteCount - at >= 24 + length else { return }
            try emit(
                .advertised(
                    ObservedAdvertiser(
                        frame: packet.number, time: packet.time, address: parameters.address(at + 3),
                        isRandom: parameters.u8(at + 2) & 1 == 1,
                        rssi: Int8(bitPattern: parameters.u8(at + 13)), isScanResponse: parameters.u8(at) & 0x08 != 0)),
                parameters.extracting(at + 24..<at + 24 + length))
            at += 24 + length
        }
    }
}
