// Values from text captures become ATT PDUs, so that all readers of binary captures can use text. The PDUs that text
// lacks (MTU exchange, discovery, acknowledgements) are added as `isSynthetic`, in the record that needs them.

/// The handles assigned to the characteristics of one connection.
struct TextState {
    static let mtu: UInt16 = 517
    /// The maximum number of characteristics; further ones share handles.
    private static let maximumCharacteristics = 4096

    private var handles: [BluetoothUUID: UInt16] = [:]
    /// The value handle assigned last. Assigned handles are above those of real attribute tables, which the same text
    /// can also contain.
    private var lastHandle: UInt16 = 0x8000
    /// The handles of values without a characteristic, one per direction.
    static let unnamedSent: UInt16 = 0x0003
    static let unnamedReceived: UInt16 = 0x0006

    /// The value handle of a characteristic, and whether it is new.
    mutating func handle(of uuid: BluetoothUUID) -> (UInt16, isNew: Bool) {
        if let known = handles[uuid] { return (known, false) }
        // Each characteristic has four handles: declaration, value, client configuration, and an unused one.
        if handles.count < Self.maximumCharacteristics { lastHandle += 4 }
        handles[uuid] = lastHandle
        return (lastHandle, true)
    }
}

extension ConversationReassembler {
    mutating func receiveConnection(
        _ packet: CapturePacket, isStart: Bool, peer: BluetoothAddress?, _ emit: ConversationHandler
    ) rethrows {
        let key = Self.textKey(peer)
        if isStart, let slot = table.find(key), !table.slots[slot].hasTraffic { return }
        try close(key, reason: nil, emit)
        if isStart { _ = try beginText(packet, key, peer: peer, emit) }
    }

    mutating func receiveValue(
        _ packet: CapturePacket, _ value: ValueInfo, _ bytes: RawSpan, _ emit: ConversationHandler
    ) rethrows {
        let key = Self.textKey(value.peer)
        let slot: Int
        if let found = table.find(key) {
            slot = found
        } else {
            slot = try beginText(packet, key, peer: value.peer, emit)
        }
        table.slots[slot].hasTraffic = true
        let handle = try handle(of: value, packet, slot: slot, emit)
        let bytes = bytes.withUnsafeBytes { [UInt8]($0) }
        let pdu: ATTPDU =
            switch value.kind {
            case .writeCommand: .writeCommand(handle: handle, value: bytes)
            case .writeRequest: .writeRequest(handle: handle, value: bytes)
            case .notification: .notification(handle: handle, value: bytes)
            case .indication: .indication(handle: handle, value: bytes)
            case .read: .readResponse(value: bytes)
            }
        if value.kind == .read { try emitText(.readRequest(handle: handle), .sent, packet, slot, emit) }
        try emitText(pdu, value.kind.direction, of: value, packet, slot, emit)
        if value.kind == .writeRequest { try emitText(.writeResponse, .received, packet, slot, emit) }
        if value.kind == .indication { try emitText(.confirmation, .sent, packet, slot, emit) }
    }

    /// The key of a text connection, above all keys of binary captures, because text has no connection handles.
    private static func textKey(_ peer: BluetoothAddress?) -> UInt64 {
        0xFFFE_0000_0000_0000 | (peer?.value ?? 0xFFFF_0000_0000_0000)
    }

    private mutating func beginText(
        _ packet: CapturePacket, _ key: UInt64, peer: BluetoothAddress?, _ emit: ConversationHandler
    ) rethrows -> Int {
        let slot = try add(key, adapter: UInt32(key >> 32), handle: UInt32(truncatingIfNeeded: key), emit)
        table.slots[slot].observed.adapter = 0
        table.slots[slot].observed.handle = UInt32(table.slots[slot].observed.id)
        table.slots[slot].observed.peer = peer
        table.slots[slot].observed.isCentral = true
        table.slots[slot].text = TextState()
        try emitConnected(slot, emit)
        try emitText(.exchangeMTURequest(mtu: TextState.mtu), .sent, packet, slot, emit)
        try emitText(.exchangeMTUResponse(mtu: TextState.mtu), .received, packet, slot, emit)
        return slot
    }

    /// The value handle of a characteristic. Discovers a new characteristic first.
    private mutating func handle(of value: ValueInfo, _ packet: CapturePacket, slot: Int, _ emit: ConversationHandler)
        rethrows -> UInt16
    {
        guard let uuid = value.characteristic else {
            if let handle = value.handle, handle != 0 { return handle }
            switch value.kind {
            case .writeCommand, .writeRequest: return TextState.unnamedSent
            case .notification, .indication, .read: return TextState.unnamedReceived
            }
        }
        guard let (handle, isNew) = table.slots[slot].text?.handle(of: uuid), isNew else {
            return table.slots[slot].text?.handle(of: uuid).0 ?? 0
        }
        let declaration = handle - 1
        try emitText(
            .readByTypeRequest(ATTHandleRange(declaration, handle), type: GATTTable.characteristic), .sent, packet,
            slot, emit)
        let content = [Self.properties(value.kind)] + handle.littleEndianBytes(2) + uuid.littleEndian
        try emitText(.readByTypeResponse([ATTHandleValue(declaration, content)]), .received, packet, slot, emit)
        if value.kind == .notification || value.kind == .indication {
            let configuration: [UInt8] = value.kind == .notification ? [1, 0] : [2, 0]
            try emitText(.writeRequest(handle: handle + 1, value: configuration), .sent, packet, slot, emit)
            try emitText(.writeResponse, .received, packet, slot, emit)
        }
        return handle
    }

    private static func properties(_ kind: ValueInfo.Kind) -> UInt8 {
        let properties: CharacteristicProperties =
            switch kind {
            case .writeCommand: .writeWithoutResponse
            case .writeRequest: .write
            case .notification: .notify
            case .indication: .indicate
            case .read: .read
            }
        return properties.rawValue
    }

    /// Emits a PDU. Without `value`, the text capture does not contain the PDU, so it is marked as synthetic.
    /// - Parameter value: the entry of the text capture that the PDU is made from.
    private func emitText(
        _ pdu: ATTPDU, _ direction: TrafficDirection, of value: ValueInfo? = nil, _ packet: CapturePacket, _ slot: Int,
        _ emit: ConversationHandler
    ) rethrows {
        try emit(
            .att(
                ATTObservation(
                    frame: packet.number, time: packet.time, connection: table.slots[slot].observed,
                    direction: direction, characteristic: value?.characteristic, isSynthetic: value == nil)),
            pdu.encoded.span.bytes)
    }
}
