/// Reassembles the packets of a capture into ATT PDUs, for each adapter, connection and direction. The packets are HCI
/// ACL packets, link-layer packets or values of a text. Also reports the start and end of connections.
///
/// Allocates memory per connection, not per packet. Counts everything that it drops.
package struct ConversationReassembler {
    package private(set) var drops: [DropReason: Int] = [:]

    var table = ConnectionTable()
    /// The adapters whose host uses boundary flag 0 for first fragments, so that flag 2 marks those of the controller.
    /// It is used only for captures without directions.
    private var hostsWithBoundary0: Set<UInt32> = []
    /// Qualcomm's controllers send diagnostics as ACL data on this handle; many Android logs have them.
    private static let diagnosticsHandle: UInt32 = 0xEDC
    /// Whether a packet had a correct CRC. If so, a wrong CRC means damage.
    var hasSeenRightCRC = false

    package init() {}

    package mutating func receive(_ packet: CapturePacket, _ bytes: RawSpan, _ emit: ConversationHandler) rethrows {
        switch packet.content {
        case .hci(.acl): try receiveACL(packet, bytes, emit)
        case .hci(.event): try receiveEvent(packet, bytes, emit)
        case .linkLayer(let info): try receiveLinkLayer(packet, info, bytes, emit)
        case .value(let value): try receiveValue(packet, value, bytes, emit)
        case .connection(let isStart, let peer): try receiveConnection(packet, isStart: isStart, peer: peer, emit)
        case .note(let note) where note.endsConnections: try reset(adapter: packet.adapter, emit)
        case .hci, .note, .unknown: break
        }
    }

    package mutating func finish(_ emit: ConversationHandler) rethrows {
        for slot in table.open {
            for partial in [table.slots[slot].sent, table.slots[slot].received] where partial.isOpen {
                try drop(.unfinishedAtEnd, table.slots[slot].observed, emit)
            }
            table.slots[slot].sent.abandon()
            table.slots[slot].received.abandon()
        }
    }

    /// Whether a connection is open, so that the next packet can belong to it.
    package var hasOpenConnections: Bool { table.count > 0 }

    // MARK: HCI ACL

    /// `handle(12 bits) boundary(2) broadcast(2) length(2) data`, little-endian (Core 5.4, Vol 4 Part E, 5.4.2).
    private mutating func receiveACL(_ packet: CapturePacket, _ bytes: RawSpan, _ emit: ConversationHandler) rethrows {
        guard bytes.byteCount >= 4 else { return try drop(packet.shortReason, nil, emit) }
        let header = bytes.u16(0)
        let handle = UInt32(header & 0x0FFF)
        let boundary = header >> 12 & 3
        let key = ConnectionTable.key(adapter: packet.adapter, handle: handle)
        let slot: Int
        if let found = table.find(key) {
            slot = found
        } else if handle == Self.diagnosticsHandle {
            return try drop(.diagnostics, nil, emit)
        } else {
            slot = try add(key, adapter: packet.adapter, handle: handle, isHCI: true, emit)
        }
        guard !table.slots[slot].isClassic else { return try drop(.classic, table.slots[slot].observed, emit) }
        table.slots[slot].hasTraffic = true

        let length = Int(bytes.u16(2))
        let isContinuation = boundary == 1
        if boundary == 0, packet.direction == nil { hostsWithBoundary0.insert(packet.adapter) }
        guard let direction = packet.direction ?? directionOfFragment(slot, boundary: boundary, bytes) else {
            guard table.slots[slot].sent.isOpen || table.slots[slot].received.isOpen else {
                return try drop(.continuationWithoutStart, table.slots[slot].observed, emit)
            }
            // The directions of the next fragments are unknown.
            dropPartialFrame(slot, .sent)
            dropPartialFrame(slot, .received)
            return try drop(.unknownDirection, table.slots[slot].observed, emit)
        }
        guard !packet.isTruncated, length <= bytes.byteCount - 4 else {
            // The packet is truncated, so its frame is lost.
            dropPartialFrame(slot, direction)
            return try drop(packet.shortReason, table.slots[slot].observed, emit)
        }
        try receiveFragment(
            bytes.extracting(4..<4 + length), isContinuation: isContinuation, slot: slot, direction: direction, packet,
            emit)
    }

    /// The direction of a continuation in a capture without directions: that of the only incomplete or dropped frame.
    /// - Returns: `nil` if no frame is open or the direction is unknown. A first fragment always has a direction.
    private func directionOfFragment(_ slot: Int, boundary: UInt16, _ bytes: RawSpan) -> TrafficDirection? {
        let connection = table.slots[slot]
        guard boundary == 1 else {
            return directionOfStart(
                connection.observed.adapter, boundary: boundary, isHostServer: connection.observed.isCentral == false,
                bytes)
        }
        switch (connection.sent.isOpen, connection.received.isOpen) {
        case (true, false): return connection.received.expectsFragments ? nil : .sent
        case (false, true): return connection.sent.expectsFragments ? nil : .received
        default: return nil
        }
    }

    /// The direction of a first fragment. Boundary flag 0 comes from the host. Hosts with old kernels also use 2; then
    /// the ATT opcode decides. Odd opcodes come from the server: the peer, unless it is the central.
    func directionOfStart(_ adapter: UInt32, boundary: UInt16, isHostServer: Bool, _ bytes: RawSpan) -> TrafficDirection
    {
        if boundary == 0 { return .sent }
        guard !hostsWithBoundary0.contains(adapter), bytes.byteCount >= 9, bytes.u16(6) == 4 else { return .received }
        let isFromServer = bytes.u8(8) & 1 == 1
        return isFromServer == isHostServer ? .sent : .received
    }

    // MARK: L2CAP

    /// Adds a fragment of an L2CAP frame, from HCI or the air.
    mutating func receiveFragment(
        _ fragment: RawSpan, isContinuation: Bool, slot: Int, direction: TrafficDirection, _ packet: CapturePacket,
        _ emit: ConversationHandler
    ) rethrows {
        // The subscript would copy the connection for each packet.
        let isOpen = direction == .sent ? table.slots[slot].sent.isOpen : table.slots[slot].received.isOpen
        if isContinuation {
            guard isOpen else { return try drop(.continuationWithoutStart, table.slots[slot].observed, emit) }
            table.slots[slot][direction].append(fragment)
        } else {
            if isOpen {
                dropPartialFrame(slot, direction)
                try drop(.supersededFrame, table.slots[slot].observed, emit)
            }
            if fragment.byteCount >= L2CAPReassembly.headerLength,
                Int(fragment.u16(0)) + L2CAPReassembly.headerLength <= fragment.byteCount
            {
                // The usual case: one fragment has the whole frame, so no copy is needed.
                let length = Int(fragment.u16(0)) + L2CAPReassembly.headerLength
                if fragment.byteCount > length { try drop(.overrun, table.slots[slot].observed, emit) }
                if packet.direction == nil { table.slots[slot][direction].expectNoMoreFragments() }
                return try receiveFrame(fragment.extracting(0..<length), slot: slot, direction: direction, packet, emit)
            }
            table.slots[slot][direction].begin(fragment)
        }
        let isComplete = table.slots[slot][direction].isComplete
        guard isComplete else { return }
        let needed = table.slots[slot][direction].needed ?? 0
        let complete = table.slots[slot][direction].take()
        if complete.count > needed { try drop(.overrun, table.slots[slot].observed, emit) }
        // On the air, a wrong total length means that packets were missed. Without a direction, two frames were mixed.
        if complete.count == needed || table.slots[slot].linkLayer == nil && packet.direction != nil {
            try receiveFrame(complete.span.bytes.extracting(0..<needed), slot: slot, direction: direction, packet, emit)
        }
        table.slots[slot][direction].recycle(complete)
    }

    /// A complete L2CAP frame. Channels: 1 BR/EDR signalling, 4 ATT, 5 LE signalling (Core 5.4, Vol 3 Part A, 2.1).
    private mutating func receiveFrame(
        _ frame: RawSpan, slot: Int, direction: TrafficDirection, _ packet: CapturePacket, _ emit: ConversationHandler
    ) rethrows {
        let channel = frame.u16(2)
        let payload = frame.extracting(L2CAPReassembly.headerLength..<frame.byteCount)
        switch channel {
        case 4:
            try emitATT(payload, bearer: 4, slot: slot, direction: direction, packet, emit)
        case 1 where table.slots[slot].linkLayer == nil && table.slots[slot].observed.peer == nil:
            // LE has no channel 1, so a connection with this channel is BR/EDR.
            table.slots[slot].isClassic = true
            dropPartialFrame(slot, direction.opposite)
        case 5:
            if table.slots[slot].enhanced == nil, !EnhancedBearers.opensBearers(payload) { break }
            table.slots[slot].enhanced = table.slots[slot].enhanced ?? EnhancedBearers()
            table.slots[slot].enhanced?.receiveSignal(payload, direction: direction)
        default:
            guard let sdu = table.slots[slot].enhanced?.receive(payload, channel: channel, direction: direction) else {
                break
            }
            try emitATT(sdu.span.bytes, bearer: channel, slot: slot, direction: direction, packet, emit)
        }
    }

    private mutating func emitATT(
        _ pdu: RawSpan, bearer: UInt16, slot: Int, direction: TrafficDirection, _ packet: CapturePacket,
        _ emit: ConversationHandler
    ) rethrows {
        guard pdu.byteCount > 0 else { return try drop(.emptyPDU, table.slots[slot].observed, emit) }
        try emit(
            .att(
                ATTObservation(
                    frame: packet.number, time: packet.time, connection: table.slots[slot].observed,
                    direction: direction, bearer: bearer)),
            pdu)
    }

    // MARK: Connections

    /// Adds a connection whose start is not in the capture or follows later.
    mutating func add(_ key: UInt64, adapter: UInt32, handle: UInt32, isHCI: Bool = false, _ emit: ConversationHandler)
        rethrows -> Int
    {
        if table.count >= ConnectionTable.maximumOpen {
            for slot in table.open.prefix(ConnectionTable.maximumOpen / 2) {
                try close(table.slots[slot].key, reason: nil, emit)
            }
        }
        return table.add(key: key, adapter: adapter, handle: handle, isHCI: isHCI)
    }

    /// Reports the start of a connection.
    func emitConnected(_ slot: Int, _ emit: ConversationHandler) rethrows {
        // Local copy: without optimisation, Swift 6.3.1 passes a wrong payload for a value from the subscript.
        let observed = table.slots[slot].observed
        try emit(.connected(observed), RawSpan())
    }

    mutating func close(_ key: UInt64, reason: UInt8?, _ emit: ConversationHandler) rethrows {
        guard let connection = table.remove(key: key) else { return }
        for partial in [connection.sent, connection.received] where partial.isOpen {
            try drop(.disconnectedDuringFrame, connection.observed, emit)
        }
        if !connection.isClassic, connection.linkLayer?.isTerminated != true {
            try emit(.disconnected(connection.observed, reason: reason), RawSpan())
        }
    }

    mutating func reset(adapter: UInt32, _ emit: ConversationHandler) rethrows {
        for slot in table.open(of: adapter) { try close(table.slots[slot].key, reason: nil, emit) }
    }

    mutating func drop(_ reason: DropReason, _ connection: ObservedConnection?, _ emit: ConversationHandler) rethrows {
        drops[reason, default: 0] += 1
        try emit(.dropped(reason, connection), RawSpan())
    }

    mutating func dropPartialFrame(_ slot: Int, _ direction: TrafficDirection) {
        table.slots[slot][direction].abandon()
    }
}
