/// ACL data and the fixed channels of L2CAP (Core 5.4, Vol 3 Part A).
extension HCIHost {
    /// The numbers of queued fragments at which the sender is congested, and at which the connection is closed.
    private static let (congestionThreshold, maximumQueued) = (64, 4096)

    mutating func receiveACL(_ packet: [UInt8]) {
        let header = packet.uint16(at: 0)
        let handle = header & 0x0FFF, isContinuation = header >> 12 & 3 == 1
        guard var connection = connections[handle] else { return }
        if !isContinuation { connection.partialFrame = [] }
        guard !isContinuation || !connection.partialFrame.isEmpty else { return }
        connection.partialFrame += packet[4...]
        let frame = connection.partialFrame
        guard frame.count >= 4, frame.count >= 4 + Int(frame.uint16(at: 0)) else {
            connections[handle] = connection
            return
        }
        connection.partialFrame = []
        connections[handle] = connection
        let payload = Array(frame[4..<(4 + Int(frame.uint16(at: 0)))])
        switch frame.uint16(at: 2) {
        case 4: if !payload.isEmpty { effects.append(.received(connection: handle, payload)) }
        case 5: receiveSignal(payload, handle)
        // Security Manager: Pairing Not Supported (Core 5.4, Vol 3 Part H, 3.5.5).
        case 6: if payload.first == 0x01 || payload.first == 0x0B { send([0x05, 0x05], channel: 6, handle) }
        default: break
        }
    }

    /// LE signalling: answers each request (Core 5.4, Vol 3 Part A, 4).
    private mutating func receiveSignal(_ payload: [UInt8], _ handle: UInt16) {
        guard payload.count >= 4 else { return }
        switch payload[0] {
        // Ignore responses, and credits of unknown channels.
        case 0x01, 0x13, 0x15, 0x16, 0x18, 0x1A: break
        // Connection Parameter Update Request: the parameters do not change.
        case 0x12: send([0x13, payload[1], 2, 0, 1, 0], channel: 5, handle)
        // Credit-based channels: the SPSM is not supported.
        case 0x14: send([0x15, payload[1], 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0], channel: 5, handle)
        // Command Reject: not understood.
        default: send([0x01, payload[1], 2, 0, 0, 0], channel: 5, handle)
        }
    }

    mutating func send(_ payload: [UInt8], channel: UInt16, _ handle: UInt16) {
        guard var connection = connections[handle], !connection.isClosing else { return }
        guard connection.queuedFragments.count < Self.maximumQueued else {
            connections[handle]?.isClosing = true
            return command(0x0406, handle.littleEndianBytes(2) + [0x13])
        }
        let frame = BasicFrames.frame(payload, channel: channel)
        var offset = 0
        while offset < frame.count {
            let part = frame[offset..<min(frame.count, offset + fragmentLength)]
            let head = (handle | (offset == 0 ? 0 : 1 << 12)).littleEndianBytes(2) + part.count.littleEndianBytes(2)
            connection.queuedFragments.append([2] + head + part)
            offset += part.count
        }
        connections[handle] = connection
        flush()
        guard let queued = connections[handle]?.queuedFragments.count, queued >= Self.congestionThreshold,
            connections[handle]?.isCongested == false
        else { return }
        connections[handle]?.isCongested = true
        effects.append(.congested(handle))
    }

    /// Sends as many fragments as the controller has free buffers, one of each connection in turn.
    mutating func flush() {
        while inFlight < bufferCount {
            let sendable = connections.filter { !$0.value.queuedFragments.isEmpty }
            guard let (handle, next) = sendable.min(by: { ($0.value.inFlight, $0.key) < ($1.value.inFlight, $1.key) })
            else { return }
            var connection = next
            effects.append(.send(connection.queuedFragments.removeFirst()))
            connection.inFlight += 1
            inFlight += 1
            let isDrained = connection.isCongested && connection.queuedFragments.isEmpty
            if isDrained { connection.isCongested = false }
            connections[handle] = connection
            if isDrained { effects.append(.drained(handle)) }
        }
    }
}
