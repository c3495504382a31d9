import Bluetooth
import BottleProtocol
import Captures

/// Finds the drinks of one capture after another: each once, however often it was delivered (protocol section 3, "Duplicates").
///
/// Deliveries come in the order of their frames, also where two bottles talk at once.
public final class DrinkReader {
    public struct Options {
        public var dialect = RecordDialect.calendar
        /// Every delivery, duplicates and bookkeeping entries included.
        public var isRaw = false
        public var given = GivenHandles()
        /// Only this bottle's.
        public var bottle: BluetoothAddress?
        /// Where the capture does not tell the model.
        public var model: BottleModel?
        /// The host clock's year, for the strict dialect where the capture has no times.
        public var hostYear: Int

        public init(hostYear: Int) { self.hostYear = hostYear }
    }

    /// What was counted.
    public struct Tally: Sendable, Equatable {
        public var drinks = 0
        public var millilitres = 0
        public var duplicates = 0
        public var suspects = 0
        /// Records whose flag says that they are no drinks.
        public var bookkeeping = 0
        public var refused = 0
        public var transfers = 0
        public var unfinishedTransfers = 0
        /// Values from the response characteristic that are no frames.
        public var malformed = 0
        /// Records of devices that only look like a bottle, left out because another was found by discovery.
        public var lookalikes = 0
        public init() {}

        /// What was added since an earlier tally.
        public func since(_ earlier: Tally) -> Tally {
            var rest = self
            for field: WritableKeyPath<Tally, Int> in [
                \.drinks, \.millilitres, \.duplicates, \.suspects, \.bookkeeping, \.refused, \.transfers, \.unfinishedTransfers, \.malformed, \.lookalikes,
            ] { rest[keyPath: field] -= earlier[keyPath: field] }
            return rest
        }
    }

    public let options: Options
    public private(set) var tally = Tally()
    /// Called for a record that the strict dialect refuses, at each delivery.
    public var onRefused: ((RefusedRecord) throws -> Void)?
    private let sink: (borrowing Delivery) throws -> Void
    /// What each address drank, over all captures read: overlapping captures hold the same drinks.
    private var histories: [BluetoothAddress: DrinkHistory] = [:]
    private var conversation: ConversationReader?
    /// Deliveries that wait for another bottle's unfinished transfer, which holds earlier frames.
    private var waiting: [Delivery] = []
    private static let mostWaiting = 65_536
    /// Deliveries of devices that only look like a bottle, until it is known whether a real one is here.
    private var doubtful: [Delivery] = []
    private static let mostDoubtful = 20_000
    private var doubt = Doubt.open

    /// What becomes of drinks whose only evidence is their own shape.
    private enum Doubt {
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

    private func deliver(_ delivery: borrowing Delivery) throws {
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

    // MARK: order

    /// Lets go of what waits for no transfer any more.
    private func releaseInOrder(after side: ServerSide) throws {
        let open = conversation?.openLogs.lazy.filter { $0 !== side }.compactMap { $0.log.pointee.openSince }.min()
        try release(before: open ?? .max)
    }

    private func release(before frame: Int) throws {
        guard !waiting.isEmpty else { return }
        let sorted = waiting.enumerated().sorted { ($0.element.frame, $0.offset) < ($1.element.frame, $1.offset) }.map(\.element)
        let ready = sorted.prefix { $0.frame < frame }
        waiting = Array(sorted[ready.endIndex...])
        for delivery in ready { try deliver(delivery) }
    }

    // MARK: doubt

    /// Frames from a bottle that is known by discovery, by the caller, or by its answers to commands: whoever merely
    /// sends the same bytes is somebody else (rule 8).
    private func refuteDoubts(_ origin: TrafficOrigin) throws {
        guard doubt == .open, !origin.isDoubtful else { return }
        doubt = .refuted
        // What the same device said before was a bottle's word then, too.
        let held = doubtful
        doubtful = []
        for delivery in held {
            if delivery.bottle === origin.side.peer { try deliver(delivery) } else { tally.lookalikes += 1 }
        }
    }

    private func releaseDoubtful() throws {
        doubt = .accepted
        let held = doubtful
        doubtful = []
        for delivery in held { try deliver(delivery) }
    }
}

/// The drinks of one bottle, over captures.
final class DrinkHistory {
    let drinks: UnsafeMutablePointer<DrinkIndex>
    /// Entries that are no drinks.
    let bookkeeping: UnsafeMutablePointer<DrinkIndex>

    init() {
        drinks = .allocate(capacity: 1)
        bookkeeping = .allocate(capacity: 1)
        drinks.initialize(to: DrinkIndex())
        bookkeeping.initialize(to: DrinkIndex())
    }

    deinit {
        for index in [drinks, bookkeeping] {
            index.deinitialize(count: 1)
            index.deallocate()
        }
    }
}

extension RecordBatch {
    /// Each record's 13 bytes with the packet it came in.
    @inline(__always)
    func forEachRecord(_ body: (UnsafeRawBufferPointer, Source) throws -> Void) rethrows {
        try bytes.withUnsafeBytes { buffer in
            var index = 0
            for source in sources {
                while index < source.end, (index + 1) * DrinkRecord.size <= buffer.count {
                    try body(UnsafeRawBufferPointer(rebasing: buffer[(index * DrinkRecord.size)..<((index + 1) * DrinkRecord.size)]), source)
                    index += 1
                }
            }
        }
    }
}
