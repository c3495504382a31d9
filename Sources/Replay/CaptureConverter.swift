import Bluetooth
import BottleProtocol
import Captures

/// Converts a capture to another format.
///
/// Packets are copied if both formats have the same level (HCI, air, text) and the output format keeps all their data.
/// Otherwise the conversation is converted and packets are generated for it, without the traffic that is not ATT.
package struct CaptureConverter {
    package struct Outcome: Sendable, Equatable {
        package var written = 0
        /// The number of packets that the output format cannot store, without a loss of traffic.
        package var leftOut = 0
        /// The number of records with a changed time; see `CaptureWriter.retimed`.
        package var retimed = 0
        /// Whether the conversation was converted instead of the packets.
        package var isByConversation = false
    }

    package let format: CaptureFormat
    package private(set) var outcome = Outcome()
    package var onProgress: ((_ read: Int, _ size: Int?) -> Void)?
    private let filter: TrafficFilter

    /// - Parameter filter: if it is not empty, the conversation of the selected PDUs is converted.
    package init(to format: CaptureFormat, filter: TrafficFilter = TrafficFilter()) {
        self.format = format
        self.filter = filter
    }

    /// Reads whole captures one at a time and passes on the bytes of the new one in blocks.
    ///
    /// Each capture is read twice: first for names and for the way to convert it. With several captures, an error in
    /// the bytes of one is thrown after all were written.
    /// - Throws: `CaptureError` after writing everything before the error, `CaptureFileError`, or `write`'s error.
    package mutating func convert(_ paths: [String], _ write: ([UInt8]) throws -> Void) throws {
        let surveys = paths.map { Survey($0) }
        var head = CaptureFileFacts()
        for survey in surveys {
            (head.name, head.address) = (head.name ?? survey.head.name, head.address ?? survey.head.address)
            head.profile = head.profile ?? survey.head.profile
            head.names.merge(survey.head.names) { first, _ in first }
        }
        var writer = CaptureWriter(format, facts: head)
        defer { outcome.retimed = writer.retimed }
        var trouble: CaptureError?
        for (path, survey) in zip(paths, surveys) {
            do {
                try convert(path, survey, &writer, write)
            } catch let error as CaptureError where error.kind != .cannotCarry && paths.count > 1 {
                trouble = trouble ?? error
            }
        }
        if let trouble { throw trouble }
    }

    private mutating func convert(
        _ path: String, _ survey: Survey, _ writer: inout CaptureWriter, _ write: ([UInt8]) throws -> Void
    ) throws {
        var file = CaptureFile(path: path)
        file.onProgress = onProgress
        var conversation: ConversationWriter?
        var written = 0, leftOut = 0
        defer {
            outcome.written += written
            outcome.leftOut += leftOut
        }
        var reassembler = ConversationReassembler()
        var gate = TrafficGate(filter)
        func emit(_ packet: CapturePacket, _ bytes: RawSpan) throws {
            if try writer.write(packet, bytes) { written += 1 }
        }
        func take(_ event: ConversationEvent, _ pdu: RawSpan, at time: Duration?) throws {
            guard filter.isEmpty || (gate.passes(event, pdu) && concernsDevice(event)) else { return }
            try conversation?.receive(event, pdu, time: time, emit)
        }
        do {
            try file.forEachPacket { packet, bytes in
                let level = survey.level ?? packet.content.level
                gate.start(at: packet.time)
                if conversation == nil, let level, needsConversation(level, survey) {
                    conversation = ConversationWriter(format)
                    outcome.isByConversation = true
                    // In packets, only advertisements have names.
                    for (address, name) in level == .text
                        ? survey.head.names.sorted(by: { $0.key.value < $1.key.value }) : []
                    where filter.device == nil || filter.device == address {
                        try conversation?.introduce(address, name, packet, emit)
                    }
                }
                if conversation == nil {
                    if try writer.write(packet, bytes) { written += 1 } else { leftOut += 1 }
                } else {
                    try reassembler.receive(packet, bytes) { try take($0, $1, at: packet.time) }
                }
                if writer.output.count >= 1 << 18 { try write(writer.takeOutput()) }
            }
        } catch {
            if file.facts.format != nil { try write(writer.takeOutput()) }
            throw error
        }
        try reassembler.finish { try take($0, $1, at: nil) }
        try conversation?.finish(emit)
        try write(writer.takeOutput())
    }

    private func needsConversation(_ level: CaptureFormat.Level, _ survey: Survey) -> Bool {
        level != format.level || !filter.isEmpty || (survey.hasSeveralAdapters && !format.keepsAdapters)
            || (survey.hasDirections || survey.isDecrypted) && !format.keepsDirection
            || level == .hci && !survey.hasDirections && format.keepsDirection
    }

    private func concernsDevice(_ event: ConversationEvent) -> Bool {
        guard let device = filter.device else { return true }
        let connection: ObservedConnection?
        switch event {
        case .att(let observation): connection = observation.connection
        case .connected(let found), .encrypted(let found), .disconnected(let found, _): connection = found
        case .dropped(_, let found): connection = found
        case .advertised(let advertiser): return advertiser.address == device
        }
        return connection.map { $0.peer == device || $0.central == device } ?? false
    }
}

/// The results of the first pass. The second pass reports errors.
private struct Survey {
    var level: CaptureFormat.Level?
    var hasSeveralAdapters = false
    var hasDirections = false
    var isDecrypted = false
    /// Name, address and profile of the first bottle, and all names.
    var head = CaptureFileFacts()

    init(_ path: String) {
        var file = CaptureFile(path: path)
        let reader = ConversationReader { _, _ in }
        file.onHead = { reader.learn($0) }
        var adapters: Set<UInt32> = []
        var level: CaptureFormat.Level?, hasDirections = false, isDecrypted = false
        _ = try? file.forEachEvent { packet in
            if level == nil { level = packet.content.level }
            switch packet.content {
            case .hci, .linkLayer, .value:
                if adapters.count < 2 { adapters.insert(packet.adapter) }
                if packet.direction != nil { hasDirections = true }
                if case .linkLayer(let facts) = packet.content, facts.isDecrypted { isDecrypted = true }
            default: break
            }
        } _: { event, bytes in
            try reader.receive(event, bytes)
        }
        try? reader.finish()
        (self.level, self.hasDirections, self.isDecrypted) = (level, hasDirections, isDecrypted)
        hasSeveralAdapters = adapters.count > 1
        head = file.facts
        guard file.facts.format?.level != .text else { return }
        let bottle = reader.peers.first(where: \.isBottle)
        (head.name, head.address, head.profile) = (bottle?.name, bottle?.address, bottle?.profile?.rawValue)
        for peer in reader.peers {
            if let address = peer.address, let name = peer.name { head.names[address] = name }
        }
    }
}

extension PacketContent {
    /// The level of the capture; `nil` if the records do not show it.
    var level: CaptureFormat.Level? {
        switch self {
        case .hci, .note: .hci
        case .linkLayer: .linkLayer
        case .value, .connection: .text
        case .unknown: nil
        }
    }
}

/// Writes a conversation at another level: HCI or air packets by `ConversationSynthesiser`, or text with each written,
/// notified or read value and its characteristic.
private struct ConversationWriter {
    private var synthesiser: ConversationSynthesiser?
    private let conversation = ConversationReader { _, _ in }
    private let values = Collector()
    /// Whether the format can store a value whose characteristic is known only by its handle.
    private let namesHandles: Bool
    private var frame = 0

    private final class Collector {
        var values: [ObservedTransfer] = []
    }

    init(_ format: CaptureFormat) {
        namesHandles = format.container == .hexText
        synthesiser = format.level == .text ? nil : ConversationSynthesiser(format.level == .hci ? .hci : .linkLayer)
        conversation.onValue = { [values] in values.values.append($0) }
    }

    mutating func receive(_ event: ConversationEvent, _ bytes: RawSpan, time: Duration?, _ emit: PacketBody) throws {
        frame += 1
        guard synthesiser == nil else {
            try synthesiser?.receive(event, bytes, frame: frame, time: time, emit)
            return
        }
        try conversation.receive(event, bytes)
        try flush(emit)
        switch event {
        case .connected(let connection): try emitConnection(true, connection, time, emit)
        case .disconnected(let connection, _): try emitConnection(false, connection, time, emit)
        default: break
        }
    }

    /// Writes an advertisement with a device's name, at the time of a packet.
    mutating func introduce(_ address: BluetoothAddress, _ name: String, _ packet: CapturePacket, _ emit: PacketBody)
        throws
    {
        let name = name.utf8.prefix(29)
        let data = [UInt8(1 + name.count), 0x09] + name
        let advertiser = ObservedAdvertiser(
            frame: packet.number, time: packet.time, address: address, isRandom: false)
        try receive(.advertised(advertiser), data.span.bytes, time: packet.time, emit)
    }

    func finish(_ emit: PacketBody) throws {
        guard synthesiser == nil else { return }
        try conversation.finish()
        try flush(emit)
    }

    private func emitConnection(
        _ isBegin: Bool, _ connection: ObservedConnection, _ time: Duration?, _ emit: PacketBody
    ) throws {
        try emit(
            CapturePacket(
                number: 0, time: time, direction: nil,
                content: .connection(isBegin: isBegin, peer: connection.peer)), RawSpan())
    }

    private func flush(_ emit: PacketBody) throws {
        let all = values.values
        values.values.removeAll(keepingCapacity: true)
        // A text capture has one server per connection: the peer, or the capturing host if that is the bottle.
        for value in all where !value.side.isHost || value.side.table.hasBottle {
            // Keep all values of a bottle. The writer reports a missing UUID.
            if value.uuid == nil, !namesHandles, !value.isBottles { continue }
            let facts = ValueFacts(
                travel: value.travel, characteristic: value.uuid, handle: value.handle, peer: value.peer)
            let packet = CapturePacket(
                number: value.frame, time: value.time, direction: facts.travel.direction, content: .value(facts))
            try emit(packet, value.bytes.span.bytes)
        }
    }
}
