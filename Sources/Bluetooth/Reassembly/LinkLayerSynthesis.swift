/// Generates link-layer packets. Each PDU or part of one has its own connection event: the central sends first, the
/// peripheral 150 µs later. A side without data sends an empty packet.
struct LinkLayerSynthesis {
    /// The maximum payload of a data packet with data length extension.
    private static let longestPayload = 251
    private static let interval = Duration.milliseconds(30)
    private static let hop: UInt8 = 7
    /// A static random address for a central whose address is not in the capture.
    private static let placeholderCentral = BluetoothAddress(0xC0_0000_0000_01)
    private static let endReason: UInt8 = 0x13

    private struct Bearer {
        var accessAddress: UInt32
        var crcInit: UInt32
        /// The value of SN and NESN in the central's next packet. The peripheral's next NESN has the other value.
        var sequenceBit: UInt8 = 0
        var channel: UInt8 = 0
    }
    private var bearers: [Int: Bearer] = [:]

    mutating func connect(_ connection: ObservedConnection, frame: Int, time: Duration?, _ emit: PacketSink) rethrows {
        let bearer = begin(connection)
        // Without an address there is no CONNECT_IND, as in a capture that starts within a connection.
        guard let peer = connection.peer else { return }
        let central = connection.central ?? Self.placeholderCentral
        // CONNECT_IND is type 5; TxAdd and RxAdd mark random addresses.
        let header: UInt8 = 0x05 | (connection.central == nil ? 0x40 : 0) | (connection.isPeerRandom == true ? 0x80 : 0)
        var payload = central.littleEndian + peer.littleEndian
        payload += bearer.accessAddress.littleEndianBytes(4) + bearer.crcInit.littleEndianBytes(3)
        // Window 1.25 ms at offset 0; interval 30 ms, latency 0, timeout 5 s; 37 channels; hop; 251–500 ppm.
        payload += [0x01, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0xF4, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, Self.hop]
        try emitPacket(
            advertisingAccessAddress, [header, UInt8(payload.count)] + payload, crcInit: CRC24.advertisingInit,
            rfChannel: 0,
            CapturePacket(number: frame, time: time, direction: nil, content: .unknown), emit)
    }

    /// Emits an ADV_IND on channel 37. Data that do not fit are dropped, but not the name.
    func advertise(_ advertiser: ObservedAdvertiser, _ data: [UInt8], _ emit: PacketSink) rethrows {
        let payload = advertiser.address.littleEndian + data
        try emitPacket(
            advertisingAccessAddress,
            [(advertiser.isScanResponse ? 4 : 0) | (advertiser.isRandom ? 0x40 : 0x00), UInt8(payload.count)] + payload,
            crcInit: CRC24.advertisingInit, rfChannel: 0,
            CapturePacket(number: advertiser.frame, time: advertiser.time, direction: nil, content: .unknown), emit)
    }

    mutating func send(_ att: ATTObservation, _ pdu: RawSpan, _ emit: PacketSink) rethrows {
        if bearers[att.connection.id] == nil { try connect(att.connection, frame: att.frame, time: att.time, emit) }
        let direction = att.direction(of: pdu)
        let frame = BasicFrames.frame(pdu.withUnsafeBytes { Array($0) })
        let starts = Array(stride(from: 0, to: frame.count, by: Self.longestPayload))
        for (index, start) in starts.enumerated() {
            let part = Array(frame[start..<min(frame.count, start + Self.longestPayload)])
            // The last part has the PDU's time, each other part one interval less.
            let time = att.time.map { $0 - Self.interval * (starts.count - 1 - index) }
            try exchange(
                att.connection.id, llid: start == 0 ? 2 : 1, part, direction, frame: att.frame, time: time, emit)
        }
    }

    mutating func disconnect(
        _ connection: ObservedConnection, _ reason: UInt8?, frame: Int, time: Duration?, _ emit: PacketSink
    ) rethrows {
        guard bearers[connection.id] != nil else { return }
        // LL_TERMINATE_IND.
        try exchange(connection.id, llid: 3, [0x02, reason ?? Self.endReason], .sent, frame: frame, time: time, emit)
        bearers[connection.id] = nil
    }

    private mutating func exchange(
        _ id: Int, llid: UInt8, _ payload: [UInt8], _ direction: TrafficDirection, frame: Int, time: Duration?,
        _ emit: PacketSink
    ) rethrows {
        guard var bearer = bearers[id] else { return }
        bearer.channel = (bearer.channel + Self.hop) % 37
        let rfChannel = bearer.channel + (bearer.channel <= 10 ? 1 : 2)
        let isSent = direction == .sent
        // An empty packet has LLID 1, like a continuation.
        let (centralLLID, centralPayload): (UInt8, [UInt8]) = isSent ? (llid, payload) : (1, [])
        let (peripheralLLID, peripheralPayload): (UInt8, [UInt8]) = isSent ? (1, []) : (llid, payload)
        let responseDelay = Duration.microseconds(
            DirectionEstimator.airtime(centralPayload.count, .le1M) + DirectionEstimator.interframeSpace)
        let centralTime = time.map { isSent ? $0 : $0 - responseDelay }
        // Bits: LLID, NESN (2), SN (3). The central's two are equal, the peripheral's differ.
        let centralHeader = centralLLID | bearer.sequenceBit << 2 | bearer.sequenceBit << 3
        let peripheralHeader = peripheralLLID | (bearer.sequenceBit ^ 1) << 2 | bearer.sequenceBit << 3
        bearer.sequenceBit ^= 1
        bearers[id] = bearer
        try emitPacket(
            bearer.accessAddress, [centralHeader, UInt8(centralPayload.count)] + centralPayload,
            crcInit: bearer.crcInit,
            rfChannel: rfChannel,
            CapturePacket(number: frame, time: centralTime, direction: .sent, content: .unknown), emit)
        try emitPacket(
            bearer.accessAddress, [peripheralHeader, UInt8(peripheralPayload.count)] + peripheralPayload,
            crcInit: bearer.crcInit, rfChannel: rfChannel,
            CapturePacket(
                number: frame, time: centralTime.map { $0 + responseDelay }, direction: .received, content: .unknown),
            emit)
    }

    private func emitPacket(
        _ accessAddress: UInt32, _ pdu: [UInt8], crcInit: UInt32, rfChannel: UInt8, _ packet: CapturePacket,
        _ emit: PacketSink
    ) rethrows {
        let bytes =
            accessAddress.littleEndianBytes(4) + pdu + CRC24.of(pdu.span.bytes, crcInit: crcInit).littleEndianBytes(3)
        var packet = packet
        packet.content = .linkLayer(.init(rfChannel: rfChannel, isCRCValid: true))
        try emit(packet, bytes.span.bytes)
    }

    /// Starts a connection with its own access address if that is free, else with a generated one.
    private mutating func begin(_ connection: ObservedConnection) -> Bearer {
        if let known = bearers[connection.id] { return known }
        let usedAddresses = Set(bearers.values.map(\.accessAddress))
        // The same conversation gives the same packets.
        var random = SplitMix64(seed: UInt64(truncatingIfNeeded: connection.id) << 48 ^ (connection.peer?.value ?? 0))
        var accessAddress = connection.handle
        while !Self.isAllowed(accessAddress) || usedAddresses.contains(accessAddress) {
            accessAddress = UInt32(truncatingIfNeeded: random.next())
        }
        let bearer = Bearer(
            accessAddress: accessAddress, crcInit: UInt32(truncatingIfNeeded: random.next()) & 0xFF_FFFF)
        bearers[connection.id] = bearer
        return bearer
    }

    /// Whether the access address meets the requirements (Core 5.4, Vol 6 Part B, 2.1.2).
    static func isAllowed(_ address: UInt32) -> Bool {
        guard (address ^ advertisingAccessAddress).nonzeroBitCount > 1 else { return false }
        let bytes = address.littleEndianBytes(4)
        guard Set(bytes).count > 1 else { return false }
        let changes = (address ^ (address >> 1)) & 0x7FFF_FFFF
        guard changes.nonzeroBitCount <= 24, (changes >> 25).nonzeroBitCount >= 2 else { return false }
        var runLength = 0
        for bit in 0..<31 {
            runLength = changes >> bit & 1 == 0 ? runLength + 1 : 0
            if runLength >= 6 { return false }
        }
        return true
    }
}
