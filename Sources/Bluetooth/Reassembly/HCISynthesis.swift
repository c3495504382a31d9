/// Generates the HCI packets of a `ConversationSynthesiser`.
struct HCISynthesis {
    /// The data length of an ACL packet, as LE controllers use it.
    private static let aclLength = 251
    /// Error code 0x13: Remote User Terminated Connection.
    private static let endReason: UInt8 = 0x13

    /// The handles of open connections, by the connection's id. The output has one adapter, so handles can change.
    private var handles: [Int: UInt16] = [:]
    private var next: UInt16 = 0x0040

    mutating func connect(_ connection: ObservedConnection, frame: Int, time: Duration?, _ emit: PacketSink) rethrows {
        let handle = handle(connection)
        // Without an address there is no event, as in a capture that starts within a connection.
        guard let peer = connection.peer else { return }
        var event: [UInt8] = [0x3E, 19, 0x01, 0x00] + handle.littleEndianBytes(2)
        event += [connection.isCentral == false ? 1 : 0, connection.isPeerRandom == true ? 1 : 0] + peer.littleEndian
        // Interval 30 ms, latency 0, supervision timeout 5 s, clock accuracy 500 ppm.
        event += [0x18, 0x00, 0x00, 0x00, 0xF4, 0x01, 0x00]
        try emit(
            CapturePacket(number: frame, time: time, direction: .received, content: .hci(.event)), event.span.bytes)
    }

    mutating func send(_ att: ATTObservation, _ pdu: RawSpan, _ emit: PacketSink) rethrows {
        if handles[att.connection.id] == nil { try connect(att.connection, frame: att.frame, time: att.time, emit) }
        let handle = handle(att.connection)
        let direction = att.direction(of: pdu)
        let frame = BasicFrames.frame(pdu.withUnsafeBytes { Array($0) })
        var start = 0
        while start < frame.count {
            let end = min(frame.count, start + Self.aclLength)
            let boundary: UInt16 = start > 0 ? 1 : direction == .sent ? 0 : 2
            let packet =
                (handle | boundary << 12).littleEndianBytes(2) + (end - start).littleEndianBytes(2) + frame[start..<end]
            try emit(
                CapturePacket(number: att.frame, time: att.time, direction: direction, content: .hci(.acl)),
                packet.span.bytes)
            start = end
        }
    }

    mutating func disconnect(
        _ connection: ObservedConnection, _ reason: UInt8?, frame: Int, time: Duration?, _ emit: PacketSink
    ) rethrows {
        guard let handle = handles.removeValue(forKey: connection.id) else { return }
        let event: [UInt8] = [0x05, 4, 0x00] + handle.littleEndianBytes(2) + [reason ?? Self.endReason]
        try emit(
            CapturePacket(number: frame, time: time, direction: .received, content: .hci(.event)), event.span.bytes)
    }

    /// Emits an LE Advertising Report event with one report (Core 5.4, Vol 4 Part E, 7.7.65.2).
    func advertise(_ advertiser: ObservedAdvertiser, _ data: [UInt8], _ emit: PacketSink) rethrows {
        var event: [UInt8] = [
            0x3E, UInt8(12 + data.count), 0x02, 0x01, advertiser.isScanResponse ? 4 : 0, advertiser.isRandom ? 1 : 0,
        ]
        event += advertiser.address.littleEndian + [UInt8(data.count)] + data
        event.append(UInt8(bitPattern: advertiser.rssi ?? 127))
        let packet = CapturePacket(
            number: advertiser.frame, time: advertiser.time, direction: .received, content: .hci(.event))
        try emit(packet, event.span.bytes)
    }

    /// The connection's handle if it is free, else the next free one.
    private mutating func handle(_ connection: ObservedConnection) -> UInt16 {
        if let known = handles[connection.id] { return known }
        let usedHandles = Set(handles.values)
        var handle = UInt16(exactly: connection.handle).flatMap {
            (1...0x0EFF).contains($0) && !usedHandles.contains($0) ? $0 : nil
        }
        while handle == nil {
            next = next >= 0x0EFF ? 0x0040 : next + 1
            // If all handles are in use, two connections share one.
            if !usedHandles.contains(next) || usedHandles.count >= 0x0E00 { handle = next }
        }
        handles[connection.id] = handle
        return handle ?? next
    }
}
