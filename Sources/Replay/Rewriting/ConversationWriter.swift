import Bluetooth
import Captures

/// Packets of another level made from a conversation: HCI or air by `ConversationSynthesiser`, text here.
struct ConversationWriter {
    typealias Emit = (CapturePacket, RawSpan) throws -> Void

    private var synthesiser: ConversationSynthesiser?
    private let text: TextMaker
    private var frame = 0

    init(_ format: CaptureFormat) {
        text = TextMaker(namesHandles: format.container == .hexText)
        switch format.level {
        case .hci: synthesiser = ConversationSynthesiser(.hci)
        case .linkLayer: synthesiser = ConversationSynthesiser(.linkLayer)
        case .text: synthesiser = nil
        }
    }

    mutating func receive(_ event: ConversationEvent, _ bytes: RawSpan, time: Duration?, _ emit: Emit) throws {
        frame += 1
        guard synthesiser != nil else { return try text.receive(event, bytes, time: time, emit) }
        try synthesiser?.receive(event, bytes, frame: frame, time: time) { packet, bytes in
            if let made = CapturePacket(packet) { try emit(made, bytes) }
        }
    }

    /// Writes an advertisement that tells a device's name, at the time of a packet.
    mutating func introduce(_ address: BluetoothAddress, _ name: String, _ packet: CapturePacket, _ emit: Emit) throws {
        let name = name.utf8.prefix(29)
        let data = [UInt8(1 + name.count), 0x09] + name
        let advertiser = ObservedAdvertiser(
            frame: packet.number, time: packet.time?.sinceEpoch, address: address, isRandom: false)
        try receive(.advertised(advertiser), data.span.bytes, time: advertiser.time, emit)
    }

    func finish(_ emit: Emit) throws {
        if synthesiser == nil { try text.finish(emit) }
    }
}

/// Text from a conversation: each value that was written, notified or read, with its characteristic.
private final class TextMaker {
    private final class Collector {
        var values: [ObservedTransfer] = []
    }

    private let conversation: ConversationReader
    private let collector: Collector
    /// Whether a value can be written whose characteristic is known only by its handle.
    private let namesHandles: Bool

    init(namesHandles: Bool) {
        self.namesHandles = namesHandles
        let collector = Collector()
        self.collector = collector
        conversation = ConversationReader { _, _ in }
        conversation.onValue = { collector.values.append($0) }
    }

    func receive(_ event: ConversationEvent, _ bytes: RawSpan, time: Duration?, _ emit: ConversationWriter.Emit) throws
    {
        try conversation.receive(event, bytes)
        try flush(emit)
        switch event {
        case .connected(let connection): try emitConnection(true, connection, time, emit)
        case .disconnected(let connection, _): try emitConnection(false, connection, time, emit)
        default: break
        }
    }

    func finish(_ emit: ConversationWriter.Emit) throws {
        try conversation.finish()
        try flush(emit)
    }

    private func emitConnection(
        _ isBegin: Bool, _ connection: ObservedConnection, _ time: Duration?, _ emit: ConversationWriter.Emit
    ) throws {
        let packet = CapturePacket(
            number: 0, time: time.map { CaptureTime(sinceEpoch: $0) }, direction: nil,
            content: .connection(ConnectionFacts(isBegin: isBegin, peer: connection.peer?.value)))
        try emit(packet, RawSpan())
    }

    private func flush(_ emit: ConversationWriter.Emit) throws {
        guard !collector.values.isEmpty else { return }
        let values = collector.values
        collector.values.removeAll(keepingCapacity: true)
        // Text knows one server a connection: the peer, or the capturing host where that is the bottle.
        for value in values where !value.side.isHost || value.side.table.hasBottle {
            // Of a bottle nothing may be lost: the writer says what is missing.
            if value.uuid == nil, !namesHandles, !value.isBottles { continue }
            let name: CharacteristicName = value.uuid.map { .uuid(high: $0.high, low: $0.low) } ?? .handle(value.handle)
            let facts = ValueFacts(travel: value.travel, characteristic: name, peer: value.peer?.value)
            let packet = CapturePacket(
                number: value.frame, time: value.time.map { CaptureTime(sinceEpoch: $0) },
                direction: facts.travel.direction, content: .value(facts))
            try emit(packet, value.bytes.span.bytes)
        }
    }
}
