import Bluetooth

// Requests, answers and discovery.

extension ConversationReader {
    /// The type of the attribute that a PDU is about, as text, as far as discovery up to here tells. For an answer that
    /// names no handle, ask before `receive` is called with it.
    func typeText(of pdu: RawSpan, _ observation: ATTObservation) -> [UInt8]? {
        guard let opcode = pdu.first.map(ATTOpcode.init(rawValue:)) else { return nil }
        let side = server(opcode.rawValue & 1 == 1, observation, sides(of: observation.connection))
        switch opcode {
        case .notification, .indication, .readRequest, .readBlobRequest, .writeRequest, .writeCommand,
            .signedWriteCommand,
            .prepareWriteRequest, .prepareWriteResponse:
            return pdu.little16(at: 1).flatMap { side.typeText(at: $0) }
        case .errorResponse: return pdu.little16(at: 2).flatMap { side.typeText(at: $0) }
        case .readResponse, .readBlobResponse, .writeResponse:
            return side.pending?.handle.flatMap { side.typeText(at: $0) }
        case .readByTypeRequest, .readByGroupTypeRequest:
            return pdu.uuid(from: 5).map { Array($0.description.utf8) }
        default: return nil
        }
    }

    /// From the client: requests and writes.
    func ask(
        _ pdu: RawSpan, _ opcode: ATTOpcode, _ side: ServerSide, _ sides: ConnectionSides, _ observation: ATTObservation
    ) throws {
        if opcode == .confirmation { return }
        if opcode == .exchangeMTURequest { sides.clientMTU = Int(pdu.little16(at: 1) ?? 23) }
        if let request = PendingRequest(pdu) {
            if let reading = side.reading, request != .readBlob(handle: reading.handle, offset: reading.bytes.count) {
                try deliverReading(side)
            }
            side.pending = request
        }
        switch opcode {
        case .writeRequest, .writeCommand, .signedWriteCommand:
            guard let handle = pdu.little16(at: 1) else { return }
            let end = opcode == .signedWriteCommand ? max(3, pdu.byteCount - 12) : pdu.byteCount
            try write(
                pdu.extracting(3..<end).bytes(), to: handle, side, observation, isRequest: opcode == .writeRequest)
        case .prepareWriteRequest:
            guard let handle = pdu.little16(at: 1), let offset = pdu.little16(at: 3) else { return }
            prepare(
                PartialValue(handle: handle, bytes: pdu.bytes(from: 5), observation: observation), at: Int(offset), side
            )
        case .executeWriteRequest:
            let prepared = side.preparing
            side.preparing = []
            guard pdu.byteCount > 1, pdu.byte(1) == 1 else { return }
            for value in prepared { try write(value.bytes, to: value.handle, side, observation, isRequest: true) }
        default: break
        }
    }

    /// From the server: answers.
    func answer(
        _ pdu: RawSpan, _ opcode: ATTOpcode, _ side: ServerSide, _ sides: ConnectionSides, _ observation: ATTObservation
    ) throws {
        if opcode == .multipleNotification { return try multiple(pdu, side, observation) }
        if opcode == .exchangeMTUResponse, let server = pdu.little16(at: 1) {
            sides.mtu = max(23, min(sides.clientMTU, Int(server)))
        }
        guard let request = side.pending, request.isAnswered(by: opcode) else { return }
        if opcode == .errorResponse, pdu.byteCount > 1, pdu.byte(1) != request.opcode { return }
        side.pending = nil
        switch (opcode, request) {
        case (.readResponse, .read(let handle)):
            side.reading = PartialValue(handle: handle, bytes: pdu.bytes(from: 1), observation: observation)
            if pdu.byteCount < sides.mtu { try deliverReading(side) }
        case (.readBlobResponse, .readBlob(let handle, let offset)):
            guard side.reading?.handle == handle, side.reading?.bytes.count == offset, offset < PartialValue.longest
            else { return }
            side.reading?.bytes += pdu.bytes(from: 1)
            side.reading?.observation = observation
            if pdu.byteCount < sides.mtu { try deliverReading(side) }
        case (.errorResponse, .readBlob): try deliverReading(side)
        case (.readByTypeResponse, .readByType(let type)):
            learn(pdu, request, side)
            let isDeclaration = type.short.map { (0x2800...0x2803).contains($0) } ?? false
            if !isDeclaration, let handle = pdu.little16(at: 2), pdu.byteCount >= 4,
                Int(pdu.byte(1)) == pdu.byteCount - 2
            {
                try known(type, value: pdu.bytes(from: 4), handle, side, observation)
            }
        default: learn(pdu, request, side)
        }
    }

    func learn(_ pdu: RawSpan, _ request: PendingRequest, _ side: ServerSide) {
        guard side.table.learn(from: pdu, to: request) else { return }
        side.forgetRoles()
        if side.table.hasBottle || !side.peer.table.hasBottle { side.peer.table = side.table }
        onLearned?(side)
    }

    /// `23 ( handle(2) length(2) value )*`
    func multiple(_ pdu: RawSpan, _ side: ServerSide, _ observation: ATTObservation) throws {
        var at = 1
        while let handle = pdu.little16(at: at), let length = pdu.little16(at: at + 2) {
            let end = min(pdu.byteCount, at + 4 + Int(length))
            try value(pdu.extracting((at + 4)..<end), of: handle, side, observation)
            at = end
        }
    }
}
