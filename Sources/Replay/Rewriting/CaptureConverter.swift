import Bluetooth
import BottleProtocol
import Captures

/// Rewrites a capture in another format.
///
/// Packets go over one by one where both formats are of one level (HCI, air, text). Otherwise the conversation is taken
/// out of the packets, and packets of the other level are made around it: what is no ATT traffic stays behind then.
package struct CaptureConverter {
    /// What became of it.
    package struct Outcome: Sendable, Equatable {
        /// Records (or lines) written.
        package var written = 0
        /// Packets for which the other format has no place and no traffic is lost.
        package var leftOut = 0
        /// Records whose time the other format cannot say: `CaptureWriter.retimed`.
        package var retimed = 0
        /// The conversation was written, not the packets.
        package var isByConversation = false
    }

    /// What is written.
    package let format: CaptureFormat
    /// What went over until now, and what stayed behind.
    package private(set) var outcome = Outcome()
    /// As `CaptureFile.onProgress`.
    package var onProgress: ((_ read: Int, _ size: Int?) -> Void)?

    private let filter: TrafficFilter

    /// - Parameter filter: where it narrows anything down, the conversation is carried over, of the wanted PDUs and of
    ///   what tells whose they are.
    package init(to format: CaptureFormat, filter: TrafficFilter = TrafficFilter()) {
        self.format = format
        self.filter = filter
    }

    /// Reads the whole capture and hands over the bytes of the new one, piece by piece.
    ///
    /// It is read twice: first for names and for how it must be rewritten. What can be read only once (standard input,
    /// a named pipe) is copied to the temporary folder for that.
    ///
    /// - Throws: `CaptureError` after everything before the trouble was written, `CaptureFileError`, whatever `write`
    ///   throws.
    package mutating func convert(_ path: String, _ write: ([UInt8]) throws -> Void) throws {
        try convert([path], write)
    }

    /// The same of several captures, one after the other. Trouble with the bytes of one is thrown when all were
    /// written.
    package mutating func convert(_ paths: [String], _ write: ([UInt8]) throws -> Void) throws {
        let sources = try paths.map { try SpooledCapture($0) }
        let surveys = sources.map { Survey($0.path, format) }
        var head = surveys.first?.head ?? CaptureFileFacts()
        for survey in surveys.dropFirst() { head.take(survey.head) }
        var writer = CaptureWriter(format, facts: head)
        defer { outcome.retimed = writer.retimed }
        var trouble: CaptureError?
        // What two have in common is written once.
        var tail: CaptureTail? = sources.count > 1 ? CaptureTail() : nil
        for (source, survey) in zip(sources, surveys) {
            do {
                try convert(source.path, survey, &tail, &writer, write)
            } catch let error as CaptureError where error.kind != .cannotCarry && paths.count > 1 {
                trouble = trouble ?? error
            }
        }
        if let trouble { throw trouble }
    }

    private mutating func convert(
        _ path: String, _ survey: Survey, _ tail: inout CaptureTail?, _ writer: inout CaptureWriter,
        _ write: ([UInt8]) throws -> Void
    ) throws {
        var file = CaptureFile(path: path)
        file.skipped = tail?.goOn(in: path) ?? 0
        file.onProgress = onProgress
        let level = survey.level
        let isByConversation = level.map { needsConversation($0, survey) } ?? false
        defer { if isByConversation { outcome.isByConversation = true } }
        var conversation: ConversationWriter?
        func flush(_ writer: inout CaptureWriter) throws {
            if writer.output.count >= 1 << 18 { try write(writer.takeOutput()) }
        }
        var written = 0, leftOut = 0
        defer {
            outcome.written += written
            outcome.leftOut += leftOut
        }
        var reassembler = ConversationReassembler.ofBottles()
        var gate = TrafficGate(filter)
        func isWanted(_ event: ConversationEvent, _ pdu: RawSpan) -> Bool {
            filter.isEmpty || (gate.passes(event, pdu) && concernsDevice(event))
        }
        // Which way HCI packets went, for formats that must say it made of one that does not (pcap link type 187).
        var sense = DirectionSense()
        do {
            try file.forEachPacket { packet, bytes in
                tail?.take(packet, bytes)
                let here = level ?? packet.content.level
                gate.start(at: packet.time?.sinceEpoch)
                if conversation == nil, let here, needsConversation(here, survey) {
                    conversation = ConversationWriter(format)
                    // Packets say names in advertisements only.
                    for (name, address) in here == .text ? survey.names : []
                    where filter.device == nil || filter.device == address {
                        try conversation?.introduce(address, name, packet) { made, madeBytes in
                            if try writer.write(made, madeBytes) { written += 1 }
                        }
                    }
                }
                if conversation == nil {
                    if try writer.write(sense.stating(packet, bytes), bytes) { written += 1 } else { leftOut += 1 }
                } else {
                    try reassembler.receive(ObservedPacket(packet), bytes) { event, pdu in
                        guard isWanted(event, pdu) else { return }
                        try conversation?.receive(event, pdu, time: packet.time?.sinceEpoch) { made, madeBytes in
                            if try writer.write(made, madeBytes) { written += 1 }
                        }
                    }
                }
                try flush(&writer)
            }
        } catch {
            // Of what is no capture nothing is written.
            if file.facts.format != nil { try write(writer.takeOutput()) }
            throw error
        }
        try reassembler.finish { event, pdu in
            guard isWanted(event, pdu) else { return }
            try conversation?.receive(event, pdu, time: nil) { made, madeBytes in
                if try writer.write(made, madeBytes) { written += 1 }
            }
        }
        try conversation?.finish { made, madeBytes in if try writer.write(made, madeBytes) { written += 1 } }
        try write(writer.takeOutput())
    }

    private func needsConversation(_ level: CaptureFormat.Level, _ survey: Survey) -> Bool {
        level != format.level || !filter.isEmpty || (survey.hasSeveralAdapters && !format.keepsAdapters)
            || survey.isUnfaithful
    }
}

extension CaptureConverter {
    /// Whether what is no PDU belongs to the wanted device.
    private func concernsDevice(_ event: ConversationEvent) -> Bool {
        guard let device = filter.device else { return true }
        switch event {
        case .att(let observation):
            return observation.connection.peer == device || observation.connection.central == device
        case .connected(let connection), .encrypted(let connection):
            return connection.peer == device || connection.central == device
        case .disconnected(let connection, _): return connection.peer == device || connection.central == device
        case .dropped(_, let connection): return connection.map { $0.peer == device || $0.central == device } ?? false
        case .advertised(let advertiser): return advertiser.address == device
        }
    }
}

extension CaptureFileFacts {
    /// Adds what the head of another part says.
    fileprivate mutating func take(_ other: CaptureFileFacts) {
        (name, address, profile) = (name ?? other.name, address ?? other.address, profile ?? other.profile)
        names.merge(other.names) { first, _ in first }
    }
}

/// What a first reading tells.
private struct Survey {
    var level: CaptureFormat.Level?
    var hasSeveralAdapters = false
    /// Rewritten packet by packet it would not say the same.
    var isUnfaithful = false
    /// Name, address and profile of the first bottle; names of everybody.
    var head = CaptureFileFacts()

    /// In the order of the addresses.
    var names: [(name: String, address: BluetoothAddress)] {
        head.names.sorted { $0.key < $1.key }.map { ($0.value, BluetoothAddress($0.key)) }
    }

    /// Trouble with the file is left to the second reading.
    init(_ path: String, _ format: CaptureFormat) {
        var file = CaptureFile(path: path)
        let reader = ConversationReader { _, _ in }
        file.onHead = { reader.learn($0) }
        var adapters: Set<UInt32> = []
        var level: CaptureFormat.Level?
        var echo: CaptureEcho?
        var reassembler = ConversationReassembler.ofBottles()
        _ = try? file.forEachPacket { packet, bytes in
            if level == nil { level = packet.content.level }
            if packet.content.isTraffic {
                if adapters.isEmpty { echo = CaptureEcho(format, first: packet) }
                if adapters.count < 2 { adapters.insert(packet.adapter) }
            }
            echo?.take(packet, bytes)
            try reassembler.receive(ObservedPacket(packet), bytes) { event, bytes in try reader.receive(event, bytes) }
        }
        try? reassembler.finish { event, bytes in try reader.receive(event, bytes) }
        isUnfaithful = echo?.isFaithful() == false
        self.level = level
        hasSeveralAdapters = adapters.count > 1
        try? reader.finish()
        head = file.facts
        guard file.facts.format?.level != .text else { return }
        let bottle = reader.peers.first(where: \.isBottle)
        head.name = bottle?.name
        head.address = bottle?.address?.value
        head.profile = bottle?.profile?.rawValue
        for peer in reader.peers {
            if let address = peer.address, let name = peer.name { head.names[address.value] = name }
        }
    }
}

extension PacketContent {
    /// `nil`: records of this kind do not tell.
    var level: CaptureFormat.Level? {
        switch self {
        case .hci, .note: .hci
        case .linkLayer: .linkLayer
        case .value, .connection: .text
        case .unknown: nil
        }
    }

    var isTraffic: Bool {
        switch self {
        case .hci, .linkLayer, .value: true
        case .note, .connection, .unknown: false
        }
    }
}
