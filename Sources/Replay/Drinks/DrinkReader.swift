import Bluetooth
import BottleProtocol
import Captures

/// Finds the drinks of one capture after another: each once, however often it was delivered (protocol section 3, "Duplicates").
///
/// Deliveries come in the order of their frames, also where two bottles talk at once.
public final class DrinkReader {
    public let options: Options
    public internal(set) var tally = Tally()
    /// Called for a record that the strict dialect refuses, at each delivery.
    public var onRefused: ((RefusedRecord) throws -> Void)?
    private let sink: (borrowing Delivery) throws -> Void
    /// What each address drank, over all captures read: overlapping captures hold the same drinks.
    private var histories: [BluetoothAddress: DrinkHistory] = [:]
    var conversation: ConversationReader?
    /// Deliveries that wait for another bottle's unfinished transfer, which holds earlier frames.
    var waiting: [Delivery] = []
    static let mostWaiting = 65_536
    /// Deliveries of devices that only look like a bottle, until it is known whether a real one is here.
    var doubtful: [Delivery] = []
    static let mostDoubtful = 20_000
    var doubt = Doubt.open

    /// What becomes of drinks whose only evidence is their own shape.
    enum Doubt {
        /// Nothing decided: they are held.
        case open
        /// A bottle was found by better evidence: they are not drinks of a bottle.
        case refuted
        /// There were so many without any better bottle that they count.
        case accepted
    }

    public init(_ options: Options, _ sink: @escaping (borrowing Delivery) throws -> Void) {
        self.options = options
        self.sink = sink
    }

    /// Everybody met in the capture that is being read, or was read last.
    public var peers: [BottlePeer] { conversation?.peers ?? lastPeers }
    private var lastPeers: [BottlePeer] = []
    /// How the capture can be read ahead; set anew for each.
    var lookAhead: (() -> Foresight?)?

    /// Reads a whole capture: `receive` for each of its events, then `finishCapture`, also in an error.
    ///
    /// - Parameter see: called for each event before.
    public func read(_ file: inout CaptureFile, _ see: (ConversationEvent) -> Void = { _ in }) throws {
        let path = file.path
        file.onHead = { [self] in learn($0) }
        lookAhead = { Foresight(path) }
        let conversation = conversation ?? begin()
        do {
            try file.forEachEvent { event, bytes in
                see(event)
                try conversation.receive(event, bytes)
            }
        } catch {
            try finishCapture()
            throw error
        }
        try finishCapture()
    }

    /// Takes the next event of a capture.
    public func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        try (conversation ?? begin()).receive(event, bytes)
    }

    /// What the head of a text capture tells.
    public func learn(_ head: CaptureFileFacts) {
        (conversation ?? begin()).learn(head)
    }

    /// The capture has ended (also in an error): delivers what was unfinished. Another capture may follow.
    public func finishCapture() throws {
        try conversation?.finish()
        if doubt != .refuted { try releaseDoubtful() }
        try release(before: .max)
        doubtful = []
        doubt = .open
        lastPeers = peers
        conversation = nil
    }

    private func begin() -> ConversationReader {
        lastPeers = []
        let reader = ConversationReader(given: options.given) { [unowned self] traffic, origin in
            try self.take(traffic, origin)
        }
        reader.lookAhead = lookAhead
        lookAhead = nil
        conversation = reader
        return reader
    }

    private func take(_ traffic: BottleTraffic, _ origin: TrafficOrigin) throws {
        switch traffic {
        case .records(let batch): try take(batch, origin)
        case .malformed: tally.malformed += 1
        case .message: try refuteDoubts(origin)
        case .command: break
        }
    }

    // MARK: records

    private func take(_ batch: RecordBatch, _ origin: TrafficOrigin) throws {
        try refuteDoubts(origin)
        let peer = origin.side.peer
        if let wanted = options.bottle, peer.address != wanted { return }
        if origin.isDoubtful, doubt == .refuted {
            tally.lookalikes += batch.bytes.count / DrinkRecord.size
            return
        }
        tally.transfers += 1
        if batch.failure != nil { tally.unfinishedTransfers += 1 }
        let others = conversation?.openLogs.contains { $0 !== origin.side } ?? false
        let route = origin.isDoubtful && doubt == .open ? Route.doubtful : others || !waiting.isEmpty ? .waiting : .direct
        try take(batch, peer, route)
        if !waiting.isEmpty { try releaseInOrder(after: origin.side) }
    }

    /// Where a batch's deliveries go.
    private enum Route {
        case direct
        /// Another transfer is under way that holds earlier frames.
        case waiting
        case doubtful
    }

    /// The loop that a large capture spends its time in: nothing in it allocates, and a drink that is known costs one look-up.
    private func take(_ batch: RecordBatch, _ peer: BottlePeer, _ route: Route) throws {
        let history = history(of: peer)
        let drinks = history.drinks, isRaw = options.isRaw, isStrict = options.dialect == .strict
        let mask: UInt64 = isStrict ? 0xFF : 0xFFFF
        var duplicates = 0, bookkeeping = 0
        defer {
            tally.duplicates += duplicates
            tally.bookkeeping += bookkeeping
        }
        try batch.forEachRecord { raw, source in
            if isStrict, try isRefused(raw, source, peer) { return }
            let head = UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self))
            let isNew: Bool
            if raw[12] == 0 {
                isNew = drinks.pointee.insert(wall: head >> 16, amount: UInt16(truncatingIfNeeded: head & mask))
                if !isNew {
                    duplicates += 1
                    if !isRaw { return }
                }
            } else {
                bookkeeping += 1
                guard isRaw else { return }
                isNew = history.bookkeeping.pointee.insert(wall: head >> 16, amount: UInt16(truncatingIfNeeded: head & mask))
            }
            try pass(raw, head, source, peer, isNew, route)
        }
    }

    private func pass(
        _ raw: UnsafeRawBufferPointer, _ head: UInt64, _ source: RecordBatch.Source, _ peer: BottlePeer, _ isNew: Bool, _ route: Route
    ) throws {
        guard let record = try? DrinkRecord(decoding: raw, dialect: options.dialect) else { return }
        let delivery = Delivery(
            bottle: peer, model: peer.model ?? options.model, record: record, year: record.year ?? year(at: source.time),
            frame: source.frame, time: source.time, isDuplicate: !isNew, head: head,
            tail: UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 5, as: UInt64.self)) & 0xFF_FFFF_FFFF)
        switch route {
        case .direct:
            try deliver(delivery)
        case .waiting:
            waiting.append(delivery)
            if waiting.count > Self.mostWaiting { try release(before: .max) }
        case .doubtful:
            guard doubt == .open else { return try deliver(delivery) }
            doubtful.append(delivery)
            if doubtful.count > Self.mostDoubtful { try releaseDoubtful() }
        }
    }

    func deliver(_ delivery: borrowing Delivery) throws {
        if delivery.record.isDrink, !delivery.isDuplicate {
            tally.drinks += 1
            if delivery.record.isSuspect { tally.suspects += 1 } else { tally.millilitres += delivery.record.amountMl }
        }
        try sink(delivery)
    }

    private func isRefused(_ raw: UnsafeRawBufferPointer, _ source: RecordBatch.Source, _ peer: BottlePeer) throws -> Bool {
        do {
            _ = try DrinkRecord(decoding: raw, dialect: .strict)
            return false
        } catch {
            tally.refused += 1
            try onRefused?(RefusedRecord(bottle: peer, raw: [UInt8](raw), reason: error, frame: source.frame))
            return true
        }
    }

    /// The host clock's year when the packet was captured. Captures without dates count from 1970: then it is today's.
    private func year(at time: Duration?) -> Int {
        guard let time else { return options.hostYear }
        let year = CivilTime(secondsSince1970: time.components.seconds).year
        return (2015...2099).contains(year) ? year : options.hostYear
    }

    private func history(of peer: BottlePeer) -> DrinkHistory {
        if let history = peer.history { return history }
        let history = peer.address.flatMap { histories[$0] } ?? DrinkHistory()
        if let address = peer.address { histories[address] = history }
        peer.history = history
        return history
    }
}
