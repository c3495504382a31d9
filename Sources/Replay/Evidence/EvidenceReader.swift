import Bluetooth
import BottleProtocol
import Captures

/// Reads captures for what they say about the disputed points of the protocol.
public final class EvidenceReader {
    var yearByte = EvidencePoint.yearByte(), amount = EvidencePoint.amount(), dissolved = EvidencePoint.dissolved(),
        flag = EvidencePoint.flag()
    var frames = EvidencePoint.frames(), entries = EvidencePoint.entries(), parts = EvidencePoint.parts(),
        order = EvidencePoint.order()
    var announced = EvidencePoint.announced(), replay = EvidencePoint.replay(),
        acknowledgement = EvidencePoint.acknowledgement()
    var sensors = [EvidencePoint.sensor("Boost"), EvidencePoint.sensor("Vita"), EvidencePoint.sensor(nil)]
    var bare: [UInt8: EvidencePoint] = [1: .bare(1), 3: .bare(3), 4: .bare(4)]
    /// Distinct records that were weighed.
    public private(set) var records = 0

    /// What is remembered of a bottle.
    final class Witness {
        let peer: BottlePeer
        var battery: Int?, temperature: Int?, tds: Int?
        /// Of the last snapshot on this connection.
        var snapshot: Snapshot?
        var dump = Dump()
        /// Records of the last whole dump, in order, and how many bytes of it were acknowledged.
        var last: [[UInt8]]?
        var acknowledged = 0
        var hasAcknowledged = false
        var question: Question?
        /// Sensor bytes and TDS that were weighed already: a dump repeats them, and says it once.
        var seenSensors: Set<UInt32> = []

        init(_ peer: BottlePeer) { self.peer = peer }
    }

    /// A dump under way.
    struct Dump {
        var records: [[UInt8]] = []
        var frames = 0
        var isWhole = true
        /// What RP 06 said.
        var announced: Bool?
        var isAsked = false
    }

    /// A bare byte that waits for what comes of it.
    struct Question {
        var byte: UInt8
        var frame: Int
        var time: Duration?
    }

    /// In the order in which they appeared, and where each bottle's stands.
    private var witnesses: [Witness] = []
    private var places: [ObjectIdentifier: Int] = [:]
    private var known: Set<UInt128> = []
    private var conversation: ConversationReader?
    /// A capture of more is weighed by its first ones.
    private static let mostRecords = 200_000
    private static let mostBottles = 1024
    private static let mostKept = 20_000
    /// A bottle that was going to answer has answered by then.
    private static let patience = Duration.seconds(5)

    private var gate: TrafficGate?
    private let filter: TrafficFilter
    private let given: GivenHandles

    public init(given: GivenHandles = GivenHandles(), filter: TrafficFilter = TrafficFilter()) {
        (self.given, self.filter) = (given, filter)
    }

    /// Everybody in the capture that was read last.
    public var peers: [BottlePeer] { conversation?.peers ?? [] }

    /// All points, in the order of the law.
    public var points: [EvidencePoint] {
        [yearByte, amount, dissolved]
            + sensors.filter { $0.observations > 0 || $0.id == "bytes-10-11-boost" || $0.id == "bytes-10-11-vita" }
            + [flag, frames, entries, parts, order, announced, replay, acknowledgement]
            + bare.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Reads a whole capture. Another may follow.
    public func read(_ file: inout CaptureFile, _ see: (ConversationEvent) -> Void = { _ in }) throws {
        let path = file.path
        let reader = makeReader()
        reader.lookAhead = { Foresight(path) }
        file.onHead = { reader.learn($0) }
        defer { end() }
        try file.forEachEvent { [self] packet in
            gate?.start(at: packet.time?.sinceEpoch)
        } _: { event, bytes in
            see(event)
            try receive(event, bytes)
        }
    }

    /// Takes the next event of a capture; `end` comes after the last.
    public func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        guard gate?.passes(event, bytes) ?? true else { return }
        try (conversation ?? makeReader()).receive(event, bytes)
        if case .disconnected(let connection, _) = event { hangUp(connection) }
    }

    /// The capture is over.
    public func end() {
        try? conversation?.finish()
        for witness in witnesses { close(witness) }
        (witnesses, places) = ([], [:])
    }

    private func makeReader() -> ConversationReader {
        gate = filter.isEmpty ? nil : TrafficGate(filter)
        let reader = ConversationReader(given: given) { [unowned self] traffic, origin in take(traffic, origin) }
        reader.onValue = { [unowned self] value in take(value) }
        conversation = reader
        return reader
    }

    private func witness(_ peer: BottlePeer) -> Witness {
        let key = ObjectIdentifier(peer)
        if let place = places[key] { return witnesses[place] }
        let made = Witness(peer)
        // A capture of very many bottles: what the rest said before is not remembered.
        guard witnesses.count < Self.mostBottles else { return made }
        places[key] = witnesses.count
        witnesses.append(made)
        return made
    }

    private func hangUp(_ connection: ObservedConnection) {
        for witness in witnesses where witness.peer.address == connection.peer {
            close(witness)
            witness.snapshot = nil
        }
    }

    // MARK: traffic

    private func take(_ traffic: BottleTraffic, _ origin: TrafficOrigin) {
        // Who only looks like a bottle says nothing of bottles.
        guard !origin.isDoubtful else { return }
        let peer = origin.side.peer, witness = witness(peer)
        let frame = origin.observation.frame, time = origin.observation.time
        if let question = witness.question, let asked = question.time, let time, time - asked > Self.patience {
            answer(witness, isAnswered: false, question)
        }
        switch traffic {
        case .command(let command, let value, _): take(command, value, witness, peer, frame, time)
        case .message(let message): take(message, witness)
        case .records(let batch): take(batch, witness, peer, time)
        case .malformed: break
        }
    }

    private func take(
        _ command: HostCommand, _ value: [UInt8], _ witness: Witness, _ peer: BottlePeer, _ frame: Int,
        _ time: Duration?
    ) {
        if let question = witness.question { answer(witness, isAnswered: false, question) }
        switch command {
        case .drinkLog, .draftDump:
            close(witness)
            witness.dump.isAsked = true
            if case .draftDump(let byte) = command, peer.profile == .retail {
                witness.question = Question(byte: byte, frame: frame, time: time)
            }
        case .acknowledge(let bytes):
            close(witness)
            witness.acknowledged += Int(bytes)
            witness.hasAcknowledged = true
        case .clearLog: witness.last = nil
        default: break
        }
    }

    private func take(_ frame: Frame, _ witness: Witness) {
        switch try? BottleMessage(decoding: frame) {
        case .snapshot(let snapshot):
            witness.snapshot = snapshot
            if let told = snapshot.batteryPercent { witness.battery = told }
            if let told = snapshot.temperatureC { witness.temperature = told }
            if let told = snapshot.tdsPpm { witness.tds = told }
        case .report(let entries):
            for entry in entries {
                switch entry.type {
                case .battery: witness.battery = entry.byte.map(Int.init)
                case .temperature: witness.temperature = entry.byte.map { Int(Int8(bitPattern: $0)) }
                case .tds: witness.tds = entry.number.map(Int.init)
                default: break
                }
            }
        case .logFollows, .logEmpty:
            if case .logFollows? = try? BottleMessage(decoding: frame) {
                witness.dump.announced = true
            } else {
                witness.dump.announced = false
            }
            if let question = witness.question { answer(witness, isAnswered: true, question) }
        default: break
        }
    }

    private func take(_ batch: RecordBatch, _ witness: Witness, _ peer: BottlePeer, _ time: Duration?) {
        if let question = witness.question { answer(witness, isAnswered: true, question) }
        witness.dump.frames += 1
        if batch.failure != nil { witness.dump.isWhole = false }
        var before: [UInt8]?
        batch.forEachRecord { raw, source in
            let bytes = [UInt8](raw)
            if witness.dump.records.count < Self.mostKept {
                witness.dump.records.append(bytes)
            } else {
                witness.dump.isWhole = false
            }
            if let before { weighOrder(before, bytes, source.frame) }
            before = bytes
            var key: UInt128 = 0
            for byte in bytes { key = key << 8 | UInt128(byte) }
            guard known.count < Self.mostRecords, known.insert(key).inserted else { return }
            records += 1
            weigh(bytes, source.frame, source.time ?? time, witness, peer)
        }
    }

    private func answer(_ witness: Witness, isAnswered: Bool, _ question: Question) {
        witness.question = nil
        bare[question.byte]?.weigh(
            isAnswered ? [0.95, 0.01] : [0.05, 0.99],
            "frame \(question.frame): 0\(question.byte) was \(isAnswered ? "answered by the log" : "not answered")")
    }

    // MARK: dumps

    /// What was asked for has come, as far as it will.
    private func close(_ witness: Witness) {
        let dump = witness.dump
        witness.dump = Dump()
        if dump.isAsked, dump.isWhole, let said = dump.announced {
            let came = !dump.records.isEmpty
            announced.weigh(
                said == came ? [0.99, 0.5] : [0.01, 0.5], "RP 06 0\(said ? 1 : 0), then \(dump.records.count) records")
        }
        guard dump.frames > 0, dump.isWhole else {
            // What was cut off says nothing of the next one.
            if dump.frames > 0 { (witness.last, witness.acknowledged, witness.hasAcknowledged) = (nil, 0, false) }
            return
        }
        if dump.isAsked { weighFrames(dump) }
        weighAgainst(witness, dump)
        weighFlags(witness, dump)
        (witness.last, witness.acknowledged, witness.hasAcknowledged) = (dump.records, 0, false)
    }

    private func weighFrames(_ dump: Dump) {
        let isLong = dump.records.count > 16
        let example = "a dump of \(dump.records.count) records in \(dump.frames) frame\(dump.frames == 1 ? "" : "s")"
        frames.weigh(dump.frames > 1 ? [0.001, 0.9] : [0.999, isLong ? 0.4 : 0.98], example)
    }

    /// This dump beside the one before it.
    private func weighAgainst(_ witness: Witness, _ dump: Dump) {
        guard let last = witness.last, !last.isEmpty else { return }
        let now = Set(dump.records)
        func isThere(_ records: some Sequence<[UInt8]>) -> Bool { records.allSatisfy(now.contains) }
        func isGone(_ records: some Sequence<[UInt8]>) -> Bool { !records.contains(where: now.contains) }
        let example =
            """
            \(last.count) records, \(witness.acknowledged) bytes acknowledged, then \
            \(now.intersection(last).count) of them again among \(dump.records.count)
            """
        guard witness.hasAcknowledged else {
            if isThere(last) {
                replay.weigh([0.98, 0.001], example)
            } else if isGone(last) {
                replay.weigh([0.01, 0.98], example)
            }
            return
        }
        let count = min(last.count, witness.acknowledged / DrinkRecord.size)
        let isOldest = isGone(last.prefix(count)) && isThere(last.dropFirst(count)), isSent = isGone(last),
            isNothing = isThere(last)
        func share(_ fits: Bool) -> Double { fits ? 0.98 : 0.005 }
        acknowledgement.weigh([share(isOldest), share(isSent), share(isNothing)], example)
    }
}
