import Bluetooth
import BottleProtocol
package import Captures

/// Converts a capture to another format.
///
/// Copies packets if both formats have the same protocol layer and the output format stores all their data. Otherwise
/// generates new packets from the ATT conversation, without other traffic.
package struct CaptureConverter {
    package struct Outcome: Sendable, Equatable {
        package var written = 0
        /// The number of skipped packets without LE traffic that the output format cannot store.
        package var skipped = 0
        /// The number of records with a changed time; see `CaptureWriter.retimedRecords`.
        package var retimedRecords = 0
        /// Whether packets were generated from the ATT conversation instead of copied.
        package var isRegenerated = false
    }

    package let format: CaptureFormat
    package private(set) var outcome = Outcome()
    package var onProgress: ((_ read: Int, _ size: Int?) -> Void)?
    private let filter: TrafficFilter

    /// - Parameter filter: if it is not empty, packets are generated from the selected PDUs.
    package init(to format: CaptureFormat, filter: TrafficFilter = TrafficFilter()) {
        self.format = format
        self.filter = filter
    }

    /// Converts one or more captures into one, and passes its bytes to `write` in blocks.
    ///
    /// Reads each capture twice: first to find names and the way to convert it. With several captures, an error in one
    /// is thrown after all were converted.
    /// - Throws: `CaptureError` after writing everything before the error, `CaptureFileError`, or `write`'s error.
    package mutating func convert(_ paths: [String], _ write: ([UInt8]) throws -> Void) throws {
        let allProperties = paths.map { CaptureProperties($0) }
        var info = CaptureFileInfo()
        for properties in allProperties {
            (info.name, info.address) = (info.name ?? properties.info.name, info.address ?? properties.info.address)
            info.profile = info.profile ?? properties.info.profile
            info.names.merge(properties.info.names) { first, _ in first }
        }
        var writer = CaptureWriter(format, info: info)
        defer { outcome.retimedRecords = writer.retimedRecords }
        // Connections that are open at the end of a file can continue in the next one.
        var reassembler = ConversationReassembler(), conversation: ConversationWriter?,
            selector = TrafficSelector(filter)
        var last: Duration?, layer: CaptureFormat.Layer?
        func emit(_ packet: CapturePacket, _ bytes: RawSpan) throws {
            if try writer.write(packet, bytes) { outcome.written += 1 }
        }
        func convertEvent(_ event: ConversationEvent, _ pdu: RawSpan, at time: Duration?) throws {
            guard filter.isEmpty || selector.passes(event, pdu) else { return }
            try conversation?.receive(event, pdu, time: time, emit)
        }
        func finishLog() throws {
            try reassembler.finish { try convertEvent($0, $1, at: nil) }
            try conversation?.finish(emit)
            (reassembler, conversation, selector, last) = (ConversationReassembler(), nil, TrafficSelector(filter), nil)
        }
        func convert(_ path: String, _ properties: CaptureProperties) throws {
            var file = CaptureFile(path: path), hasStarted = false
            file.onProgress = onProgress
            do {
                try file.forEachPacket { packet, bytes in
                    if !hasStarted {
                        hasStarted = true
                        let isSameLayer = layer == properties.layer && layer != .text
                        if !isSameLayer || !reassembler.isContinued(at: packet.time, after: last) { try finishLog() }
                        layer = properties.layer
                    }
                    last = packet.time ?? last
                    selector.start(at: packet.time)
                    if conversation == nil, let layer, needsConversation(layer, properties) {
                        conversation = ConversationWriter(format)
                        outcome.isRegenerated = true
                        // HCI and link-layer captures can store a name only in an advertisement.
                        for (address, name) in layer == .text
                            ? properties.info.names.sorted(by: { $0.key.value < $1.key.value }) : []
                        where filter.device == nil || filter.device == address {
                            try conversation?.writeName(address, name, packet, emit)
                        }
                    }
                    if conversation == nil {
                        if try writer.write(packet, bytes) { outcome.written += 1 } else { outcome.skipped += 1 }
                    } else {
                        try reassembler.receive(packet, bytes) { try convertEvent($0, $1, at: packet.time) }
                    }
                    if writer.output.count >= 1 << 18 { try write(writer.takeOutput()) }
                }
            } catch {
                if file.info.format != nil { try write(writer.takeOutput()) }
                throw error
            }
        }
        var firstError: CaptureError?
        for (path, properties) in zip(paths, allProperties) {
            do {
                try convert(path, properties)
            } catch let error as CaptureError where error.kind != .notStorable && paths.count > 1 {
                firstError = firstError ?? error
            }
        }
        try finishLog()
        // If no input was readable, nothing is written, so that an existing file stays unchanged.
        if firstError == nil || layer != nil { try write(writer.takeOutput()) }
        if let firstError { throw firstError }
    }

    private func needsConversation(_ layer: CaptureFormat.Layer, _ properties: CaptureProperties) -> Bool {
        layer != format.layer || !filter.isEmpty || (properties.hasSeveralAdapters && !format.keepsAdapters)
            || (properties.hasDirections || properties.isDecrypted) && !format.keepsDirection
            || layer == .hci && !properties.hasDirections && format.keepsDirection
    }
}

/// The properties of a capture that determine its conversion, from a first pass that ignores errors.
private struct CaptureProperties {
    var layer: CaptureFormat.Layer?
    var hasSeveralAdapters = false
    var hasDirections = false
    var isDecrypted = false
    /// Name, address and profile of the first bottle, and all names.
    var info = CaptureFileInfo()

    init(_ path: String) {
        var file = CaptureFile(path: path)
        let reader = ConversationReader { _, _ in }
        file.onHeader = { reader.addNames(from: $0) }
        var adapters: Set<UInt32> = []
        try? file.forEachEvent { packet in
            if layer == nil { layer = packet.content.layer }
            switch packet.content {
            case .hci, .linkLayer, .value:
                if adapters.count < 2 { adapters.insert(packet.adapter) }
                if packet.direction != nil { hasDirections = true }
                if case .linkLayer(let info) = packet.content, info.isDecrypted { isDecrypted = true }
            default: break
            }
        } _: { event, bytes in
            try reader.receive(event, bytes)
        }
        try? reader.finish()
        hasSeveralAdapters = adapters.count > 1
        info = file.info
        guard file.info.format?.layer != .text else { return }
        let bottle = reader.peers.first(where: \.isBottle)
        (info.name, info.address, info.profile) = (bottle?.name, bottle?.address, bottle?.profile?.rawValue)
        for peer in reader.peers {
            if let address = peer.address, let name = peer.name { info.names[address] = name }
        }
    }
}

extension PacketContent {
    /// The protocol layer of the packet; `nil` if unknown.
    var layer: CaptureFormat.Layer? {
        switch self {
        case .hci, .note: .hci
        case .linkLayer: .linkLayer
        case .value, .connection: .text
        case .unknown: nil
        }
    }
}

/// Writes an ATT conversation in another protocol layer: HCI or link-layer packets by `ConversationSynthesiser`, or
/// text lines with each transferred value and its characteristic.
private final class ConversationWriter {
    private var synthesiser: ConversationSynthesiser?
    private let conversation = ConversationReader { _, _ in }
    /// The values of the last event.
    private var values: [ObservedValue] = []
    /// Whether the format can store a value with a handle instead of a characteristic UUID.
    private let canStoreHandles: Bool
    private var frame = 0

    init(_ format: CaptureFormat) {
        canStoreHandles = format.container == .hexText
        synthesiser = format.layer == .text ? nil : ConversationSynthesiser(format.layer == .hci ? .hci : .linkLayer)
        conversation.onValue = { [unowned self] in values.append($0) }
    }

    func receive(_ event: ConversationEvent, _ bytes: RawSpan, time: Duration?, _ emit: PacketSink) throws {
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
    func writeName(_ address: BluetoothAddress, _ name: String, _ packet: CapturePacket, _ emit: PacketSink) throws {
        let name = name.utf8.prefix(29)
        let data = [UInt8(1 + name.count), 0x09] + name
        let advertiser = ObservedAdvertiser(frame: packet.number, time: packet.time, address: address, isRandom: false)
        try receive(.advertised(advertiser), data.span.bytes, time: packet.time, emit)
    }

    func finish(_ emit: PacketSink) throws {
        guard synthesiser == nil else { return }
        try conversation.finish()
        try flush(emit)
    }

    private func emitConnection(
        _ isStart: Bool, _ connection: ObservedConnection, _ time: Duration?, _ emit: PacketSink
    ) throws {
        try emit(
            CapturePacket(
                number: 0, time: time, direction: nil,
                content: .connection(isStart: isStart, peer: connection.peer)), RawSpan())
    }

    private func flush(_ emit: PacketSink) throws {
        let all = values
        values = []
        // A text capture has one server per connection: the peer, or the capturing host if that is the bottle.
        for value in all where !value.server.isHost || value.server.table.hasBottle {
            // Keep a bottle's values without a UUID, so that the writer reports the missing UUID.
            if value.uuid == nil, !canStoreHandles, !value.belongsToBottle { continue }
            let info = ValueInfo(kind: value.kind, characteristic: value.uuid, handle: value.handle, peer: value.peer)
            let packet = CapturePacket(
                number: value.frame, time: value.time, direction: info.kind.direction, content: .value(info))
            try emit(packet, value.bytes.span.bytes)
        }
    }
}
