import Bluetooth
import BottleProtocol
import Captures

// Values that were notified, read or written: whose they are, and what becomes of a bottle's.

extension ConversationReader {
    @inline(__always)
    func value(
        _ bytes: RawSpan, of handle: UInt16, _ side: ServerSide, _ observation: ATTObservation,
        _ travel: ValueFacts.Travel = .notification
    ) throws {
        if let onValue { onValue(transfer(bytes.bytes(), handle, side, observation, travel)) }
        try look(bytes, of: handle, side, observation)
    }

    @inline(__always)
    func look(_ bytes: RawSpan, of handle: UInt16, _ side: ServerSide, _ observation: ATTObservation) throws {
        switch side.role(of: handle, given) {
        case .response(let profile, let basis):
            if side.peer.responseHandle != handle || side.peer.basis != basis {
                side.peer.note(profile, basis)
                side.peer.responseHandle = handle
            }
            try side.log.pointee.receive(bytes, frame: observation.frame, time: observation.time) {
                try self.emit($0, side, observation)
            }
            if side.log.pointee.isOpen != side.isListedAsOpen { list(side) }
            if side.isListedAsOpen {
                stream = LogStream(
                    connection: observation.connection.id, direction: observation.direction, handle: handle,
                    log: side.log)
            }
        case .unknown:
            try guess(bytes, at: handle, side, observation)
        case .command, .other: break
        }
    }

    /// A value that was read, now that all of it is here.
    func deliverReading(_ side: ServerSide) throws {
        guard let reading = side.reading else { return }
        side.reading = nil
        if let type = side.type(at: reading.handle) {
            return try known(type, value: reading.bytes, reading.handle, side, reading.observation)
        }
        try value(reading.bytes.span.bytes, of: reading.handle, side, reading.observation, .read)
    }

    /// A value that was read, of an attribute whose type is known.
    func known(
        _ type: BluetoothUUID, value bytes: [UInt8], _ handle: UInt16, _ side: ServerSide, _ observation: ATTObservation
    ) throws {
        if let onValue, type == 0x2A00 || type == 0x2A25 { onValue(transfer(bytes, handle, side, observation, .read)) }
        switch type {
        case 0x2A00: side.peer.learn(name: String(decoding: bytes, as: UTF8.self))
        case 0x2A25:
            // On links without a radio the bottle tells its address here (command line, "Links").
            if side.peer.address == nil, let address = BluetoothAddress(String(decoding: bytes, as: UTF8.self)) {
                side.peer.openConnections -= 1
                side.peer = book.identify(side.peer, as: address)
                side.peer.openConnections += 1
            }
        default: try value(bytes.span.bytes, of: handle, side, observation, .read)
        }
    }

    func prepare(_ piece: PartialValue, at offset: Int, _ side: ServerSide) {
        if let last = side.preparing.indices.last, side.preparing[last].handle == piece.handle,
            side.preparing[last].bytes.count == offset
        {
            guard offset + piece.bytes.count <= PartialValue.longest else { return }
            side.preparing[last].bytes += piece.bytes
        } else if side.preparing.count < 64 {
            side.preparing.append(piece)
        }
    }

    func transfer(
        _ bytes: [UInt8], _ handle: UInt16, _ side: ServerSide, _ observation: ATTObservation,
        _ travel: ValueFacts.Travel
    ) -> ObservedTransfer {
        ObservedTransfer(
            side: side, handle: handle, uuid: side.type(at: handle) ?? observation.characteristic, travel: travel,
            bytes: bytes,
            frame: observation.frame, time: observation.time)
    }

    func write(
        _ bytes: [UInt8], to handle: UInt16, _ side: ServerSide, _ observation: ATTObservation, isRequest: Bool = false
    ) throws {
        if let onValue {
            onValue(transfer(bytes, handle, side, observation, isRequest ? .writeRequest : .writeCommand))
        }
        try look(written: bytes, to: handle, side, observation)
    }

    func emit(_ output: LogOutput, _ side: ServerSide, _ observation: ATTObservation) throws {
        switch output {
        case .records(let batch):
            side.peer.hasSpoken = true
            foreseeModel(side.peer)
            try sink(.records(batch), TrafficOrigin(side, observation))
        case .message(let message):
            side.peer.hasSpoken = true
            side.peer.learn(from: message)
            try sink(.message(message), TrafficOrigin(side, observation))
        case .malformed(let bytes, let failure):
            // A gadget with a characteristic of the same number says this all day long.
            if side.peer.isBottle { try sink(.malformed(bytes, failure), TrafficOrigin(side, observation)) }
        }
    }
}
