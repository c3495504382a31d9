// Packets on the air: `access address(4) header(2) payload CRC(3)`, little-endian (Core 5.4, Vol 6 Part B, 2).

extension ConversationReassembler {
    mutating func receiveLinkLayer(
        _ packet: CapturePacket, _ info: LinkLayerInfo, _ bytes: RawSpan, _ emit: ConversationHandler
    ) rethrows {
        // On the coded PHY, the coding indicator follows the access address.
        let start = info.phy == .coded ? 5 : 4
        guard bytes.byteCount >= start + 2 else { return try drop(packet.shortReason, nil, emit) }
        let accessAddress = bytes.u32(0)
        let isAdvertising = accessAddress == advertisingAccessAddress
        // A data header with its CP bit set has a third byte (constant tone extension).
        let headerLength = !isAdvertising && bytes.u8(start) & 0x20 != 0 ? 3 : 2
        let end = start + headerLength + Int(bytes.u8(start + 1))
        guard end + 3 <= bytes.byteCount else {
            return try drop(packet.shortReason, knownConnection(packet.adapter, accessAddress), emit)
        }
        let pdu = bytes.extracting(start..<end)
        let crc = bytes.u24(end)
        if isAdvertising {
            try receiveAdvertising(packet, info, pdu, crc: crc, emit)
        } else {
            try receiveData(packet, info, accessAddress, pdu, headerLength: headerLength, crc: crc, emit)
        }
    }

    private mutating func knownConnection(_ adapter: UInt32, _ accessAddress: UInt32) -> ObservedConnection? {
        table.find(ConnectionTable.key(adapter: adapter, handle: accessAddress)).map { table.slots[$0].observed }
    }

    /// Whether the CRC is wrong according to the sniffer. If the sniffer does not state this, the computed CRC decides,
    /// but only after a correct one.
    private mutating func isDamaged(_ info: LinkLayerInfo, isWrong: Bool) -> Bool {
        if let stated = info.isCRCValid { return !stated }
        if !isWrong { hasSeenRightCRC = true }
        return isWrong && hasSeenRightCRC
    }

    // MARK: Advertising channel

    private mutating func receiveAdvertising(
        _ packet: CapturePacket, _ info: LinkLayerInfo, _ pdu: RawSpan, crc: UInt32, _ emit: ConversationHandler
    ) rethrows {
        let isWrong = CRC24.of(pdu, crcInit: CRC24.advertisingInit) != crc
        if isDamaged(info, isWrong: isWrong) { return try drop(.badCRC, nil, emit) }
        let header = pdu.u8(0), pduType = header & 0x0F
        let payload = pdu.extracting(2..<pdu.byteCount)
        let address: Int, data: Int
        switch pduType {
        case 0, 2, 4, 6:
            guard payload.byteCount >= 6 else { return }
            // ADV_IND, ADV_NONCONN_IND, SCAN_RSP, ADV_SCAN_IND: address, AD structures.
            (address, data) = (0, 6)
        case 7 where payload.byteCount >= 8 && payload.u8(0) & 0x3F >= 7 && payload.u8(1) & 0x01 != 0:
            // Extended: header length, flags (bit 0: an address follows), …, AD structures.
            (address, data) = (2, min(payload.byteCount, 1 + Int(payload.u8(0) & 0x3F)))
        case 5 where payload.byteCount >= 34:
            return try receiveConnectInd(packet, payload, isPeripheralRandom: header & 0x80 != 0, emit)
        default: return
        }
        try emit(
            .advertised(
                ObservedAdvertiser(
                    frame: packet.number, time: packet.time, address: payload.address(address),
                    isRandom: header & 0x40 != 0, rssi: info.signal, isScanResponse: pduType == 4)),
            payload.extracting(data..<payload.byteCount))
    }

    /// CONNECT_IND (and AUX_CONNECT_REQ): central(6) peripheral(6) accessAddress(4) crcInit(3) … 15 more bytes.
    private mutating func receiveConnectInd(
        _ packet: CapturePacket, _ payload: RawSpan, isPeripheralRandom: Bool, _ emit: ConversationHandler
    ) rethrows {
        let accessAddress = payload.u32(12)
        guard accessAddress != advertisingAccessAddress else { return }
        let key = ConnectionTable.key(adapter: packet.adapter, handle: accessAddress)
        if let slot = table.find(key), table.slots[slot].observed.peer == payload.address(6),
            table.slots[slot].observed.central == payload.address(0),
            table.slots[slot].linkLayer?.hasData == false
        {
            return
        }
        try close(key, reason: nil, emit)
        let slot = try add(key, adapter: packet.adapter, handle: accessAddress, emit)
        table.slots[slot].observed.central = payload.address(0)
        table.slots[slot].observed.peer = payload.address(6)
        table.slots[slot].observed.isPeerRandom = isPeripheralRandom
        table.slots[slot].observed.isCentral = true
        table.slots[slot].linkLayer = LinkLayerState(crcInit: payload.u24(16))
        try emitConnected(slot, emit)
    }

    // MARK: Data channel

    private mutating func receiveData(
        _ packet: CapturePacket, _ info: LinkLayerInfo, _ accessAddress: UInt32, _ pdu: RawSpan, headerLength: Int,
        crc: UInt32, _ emit: ConversationHandler
    ) rethrows {
        let header = pdu.u8(0)
        let llid = header & 0x03
        var payload = pdu.extracting(headerLength..<pdu.byteCount)
        let key = ConnectionTable.key(adapter: packet.adapter, handle: accessAddress)
        var slot: Int
        if let found = table.find(key) {
            slot = found
        } else {
            // On the air, noise can look like an access address, so a packet with a wrong CRC starts no connection.
            if info.isCRCValid == false { return try drop(.badCRC, nil, emit) }
            slot = try add(key, adapter: packet.adapter, handle: accessAddress, emit)
        }
        // The sniffer's CRC result takes precedence. The CRC then only serves to find its initial value.
        let isStated = info.isCRCValid != nil
        let isWrong = table.slots[slot].withLinkLayerState { state in
            (!isStated || state.crcInit == nil) && state.isCRCWrong(pdu, crc: crc)
        }
        if isDamaged(info, isWrong: isWrong) {
            table.slots[slot].linkLayer?.estimator.addDamaged(
                at: packet.time, channel: info.rfChannel, length: payload.byteCount, phy: info.phy)
            return try drop(.badCRC, table.slots[slot].observed, emit)
        }

        let evidence = evidence(of: payload, header: header, slot: slot)
        // Read the connection's state in one access, because each access is expensive.
        let (direction, relation, isTerminated) = table.slots[slot].withLinkLayerState { state in
            let (direction, isCertain) = state.estimator.estimate(
                header: header, stated: packet.direction, at: packet.time, channel: info.rfChannel,
                length: payload.byteCount, phy: info.phy, evidence: evidence,
                repeats: state.repeatOdds(header: header, payload))
            return (
                direction,
                llid == 0 ? .next : state.classify(header: header, payload, direction: direction, isCertain: isCertain),
                state.isTerminated
            )
        }
        if llid == 0 { return try drop(.reservedLLID, table.slots[slot].observed, emit) }
        switch relation {
        case .retransmission:
            if payload.byteCount > 0 { try drop(.retransmission, table.slots[slot].observed, emit) }
            return
        case .afterGap where table.slots[slot][direction].isOpen:
            // The missing packet was part of the current frame.
            dropPartialFrame(slot, direction)
            try drop(.missedPart, table.slots[slot].observed, emit)
        default: break
        }
        guard payload.byteCount > 0 else { return }
        if isTerminated {
            if llid == 3 { return }
            // Data after the end of the connection belong to a new connection with the same access address.
            try close(key, reason: nil, emit)
            slot = try add(key, adapter: packet.adapter, handle: accessAddress, emit)
            table.slots[slot].linkLayer = LinkLayerState()
        }
        let isEncrypted = table.slots[slot].withLinkLayerState { state in
            state.hasData = true
            return state.isEncrypted
        }
        if isEncrypted, !info.isDecrypted, !isPlaintext(payload, llid: llid, slot: slot, direction: direction) {
            if table.slots[slot].linkLayer?.hasCiphertext == false {
                table.slots[slot].linkLayer?.hasCiphertext = true
                try emit(.encrypted(table.slots[slot].observed), RawSpan())
            }
            return try drop(.ciphertext, table.slots[slot].observed, emit)
        }
        if llid == 3 { return try receiveControl(payload, slot: slot, emit) }
        if info.isDecrypted || isEncrypted {
            payload = payload.extracting(0..<lengthWithoutMIC(payload, slot: slot, isStart: llid == 2))
        }
        try receiveFragment(payload, isContinuation: llid == 1, slot: slot, direction: direction, packet, emit)
    }

    /// The evidence of a packet's content for its direction.
    private func evidence(of payload: RawSpan, header: UInt8, slot: Int) -> DirectionEstimator.Evidence {
        guard payload.byteCount > 0 else { return .init() }
        switch header & 0x03 {
        case 2 where payload.byteCount >= 5 && payload.u16(2) == 4:
            // ATT: odd opcodes come from the server, even ones go to it (also the confirmation 1E).
            return .of(payload.u8(4) & 1 == 1 ? .received : .sent, 2, isOpcode: true)
        case 1:
            switch (table.slots[slot].sent.isOpen, table.slots[slot].received.isOpen) {
            case (true, false): return .of(.sent, 20)
            case (false, true): return .of(.received, 20)
            default: return .init()
            }
        case 3 where table.slots[slot].linkLayer?.isEncrypted == false:
            switch payload.u8(0) {
            // LL_CONNECTION_UPDATE_IND, CHANNEL_MAP_IND, ENC_REQ, FEATURE_REQ, PAUSE_ENC_REQ, PHY_UPDATE_IND: central.
            case 0x00, 0x01, 0x03, 0x08, 0x0A, 0x18: return .of(.sent, 150)
            // LL_ENC_RSP, START_ENC_REQ, PERIPHERAL_FEATURE_REQ, MIN_USED_CHANNELS_IND: peripheral only.
            case 0x04, 0x05, 0x0E, 0x19: return .of(.received, 150)
            default: return .init()
            }
        default: return .init()
        }
    }

    /// Whether the content of a packet of an encrypted connection looks like plaintext. Some decrypting sniffers do not
    /// set the flag for decrypted packets. About one in 10^9 encrypted packets looks like an L2CAP header with a
    /// matching length. A continuation is plaintext if the start of its frame was.
    private func isPlaintext(_ payload: RawSpan, llid: UInt8, slot: Int, direction: TrafficDirection) -> Bool {
        switch llid {
        case 2:
            guard payload.byteCount >= L2CAPReassembly.headerLength else { return false }
            let announced = Int(payload.u16(0)) + L2CAPReassembly.headerLength, channel = payload.u16(2)
            // ATT, LE signalling, Security Manager.
            guard (4...6).contains(channel) else { return false }
            // A frame with four extra bytes can be ciphertext with its MIC: only the sniffer's flag decides.
            return announced == payload.byteCount || (announced > payload.byteCount && announced <= 1024)
        case 1: return table.slots[slot][direction].isOpen
        // The ciphertext of a control PDU has at least five bytes: an opcode and the MIC.
        default: return payload.byteCount < 5
        }
    }

    private mutating func receiveControl(_ payload: RawSpan, slot: Int, _ emit: ConversationHandler) rethrows {
        switch payload.u8(0) {
        case 0x02:
            // LL_TERMINATE_IND: error code. The entry stays for the acknowledgements.
            let observed = table.slots[slot].observed
            for direction in [TrafficDirection.sent, .received] where table.slots[slot][direction].isOpen {
                dropPartialFrame(slot, direction)
                try drop(.disconnectedDuringFrame, observed, emit)
            }
            table.slots[slot].linkLayer?.isTerminated = true
            try emit(.disconnected(observed, reason: payload.byteCount >= 2 ? payload.u8(1) : nil), RawSpan())
        case 0x05:
            // LL_START_ENC_REQ: ciphertext follows.
            guard table.slots[slot].linkLayer?.isEncrypted == false else { return }
            table.slots[slot].linkLayer?.isEncrypted = true
        case 0x0B:
            // LL_PAUSE_ENC_RSP, visible to decrypting sniffers only: plaintext until the next start.
            table.slots[slot].linkLayer?.isEncrypted = false
        default: break
        }
    }

    /// A decrypting sniffer can leave the MIC in the payload: a complete frame is then four bytes too long.
    private mutating func lengthWithoutMIC(_ payload: RawSpan, slot: Int, isStart: Bool) -> Int {
        if isStart, payload.byteCount >= L2CAPReassembly.headerLength,
            Int(payload.u16(0)) + L2CAPReassembly.headerLength + 4 == payload.byteCount
        {
            table.slots[slot].linkLayer?.keepsMIC = true
        }
        return table.slots[slot].linkLayer?.keepsMIC == true && payload.byteCount > 4
            ? payload.byteCount - 4 : payload.byteCount
    }
}

extension ConnectionTable.Connection {
    /// Accesses the connection's link-layer state, created on first use, without a copy of the connection.
    @inline(__always)
    fileprivate mutating func withLinkLayerState<Result>(_ body: (inout LinkLayerState) -> Result) -> Result {
        if linkLayer == nil { linkLayer = LinkLayerState() }
        return body(&linkLayer!)
    }
}
