import Bluetooth
import BottleProtocol
import Captures

/// Finds the drinks of one capture after another: each once, however often it was delivered (protocol section 3,
/// "Duplicates").
///
/// Deliveries come in the order of their frames, also where two bottles talk at once.
package final class DrinkReader {
    /// What is read, and of whom.
    package let options: Options
    /// What was counted until now.
    package internal(set) var tally = Tally()
    /// Called for a record that the strict dialect refuses, at each delivery.
    package var onRefused: ((RefusedRecord) throws -> Void)?
    private let sink: (borrowing Delivery) throws -> Void
    /// Who drank what, over all captures read: overlapping captures hold the same drinks.
    let ledger = DrinkLedger()
    /// The capture that is being read, or may be continued by the next.
    private var place = CapturePlace()
    /// Its end, while others follow.
    private var tail = CaptureTail()
    private var captures: Int32 = 0
    var conversation: ConversationReader?
    /// Deliveries that wait for another bottle's unfinished transfer, which holds earlier frames.
    var waiting: [Delivery] = []
    var earliestWaiting = Int.max
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

    private var gate: TrafficGate?
    private let isGated: Bool

    /// Hands each delivery to `sink`, which may throw to end the reading.
    package init(_ options: Options, _ sink: @escaping (borrowing Delivery) throws -> Void) {
        self.options = options
        isGated = !options.filter.isEmptyBesideDevice
        gate = TrafficGate(besideDevice: options.filter)
        self.sink = sink
    }

    /// Everybody met in the capture that is being read, or was read last.
    package var peers: [BottlePeer] { conversation?.peers ?? lastPeers }
    private var lastPeers: [BottlePeer] = []
    /// How the capture can be read ahead; set anew for each.
    var lookAhead: (() -> Foresight?)?

    /// Reads a capture that may be one of several parts: a log that was cut in the middle of a connection goes on in
    /// the next file. What both hold of it counts once.
    ///
    /// - Parameters:
    ///   - isLast: no other follows; otherwise what is under way at its end may be continued, and is delivered later.
    ///   - see: called for each event before.
    package func read(_ file: inout CaptureFile, isLast: Bool = true, _ see: (ConversationEvent) -> Void = { _ in })
        throws
    {
        var course = Course(path: file.path, skipped: tail.goOn(in: file.path))
        file.skipped = course.skipped
        captures += 1
        do {
            try file.forEachPacket { head in
                // Text says whose it is before its first packet, and begins anew in each file.
                if !course.isBegun { try? begin(&course, at: nil, .text) }
                learn(head)
                course.conversation = conversation
            } _: { packet, bytes in
                let time = packet.time?.sinceEpoch
                if !isLast { tail.take(packet, bytes) }
                if !course.isBegun { try begin(&course, at: time, packet.content.level) }
                if let time {
                    course.last = time
                    if isGated { gate?.start(at: time) }
                }
                if course.level == nil { course.level = packet.content.level }
                let conversation = course.conversation ?? makeConversation()
                course.conversation = conversation
                try course.reassembler.receive(ObservedPacket(packet), bytes) { event, pdu in
                    see(event)
                    if isGated, gate?.passes(event, pdu) == false { return }
                    try conversation.receive(event, pdu)
                }
            }
        } catch {
            try end(course, isLast: isLast)
            throw error
        }
        try end(course, isLast: isLast)
    }

    /// How far the reading of a file is. Of `read` alone, and of no closure that outlives it: variables of such are
    /// looked up and checked at each packet.
    private struct Course {
        let path: String
        /// Records at the beginning that were in the file before.
        let skipped: Int
        var isBegun = false
        var reassembler = ConversationReassembler.ofBottles()
        /// The reader's own, at hand.
        var conversation: ConversationReader?
        var last: Duration?
        var level: CaptureFormat.Level?
    }

    private func begin(_ course: inout Course, at time: Duration?, _ level: CaptureFormat.Level?) throws {
        course.isBegun = true
        if place.isContinued(at: time, level, isOverlap: course.skipped > 0) {
            conversation?.continueInAnotherFile()
            course.reassembler = place.reassembler
        } else {
            try finishCapture()
        }
        let (path, open, skipped) = (course.path, course.reassembler, course.skipped)
        lookAhead = { Foresight(path, from: open, skipping: skipped) }
        conversation?.lookAheadAnew(lookAhead)
        course.conversation = conversation
    }

    private func end(_ course: Course, isLast: Bool) throws {
        if course.isBegun { place = CapturePlace(course.reassembler, at: course.last, course.level) }
        if isLast || !place.isOpen { try finishCapture() }
    }

    /// Takes the next event of a capture.
    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        if isGated, gate?.passes(event, bytes) == false { return }
        try (conversation ?? makeConversation()).receive(event, bytes)
    }

    /// Tells the time of a packet, for moments that count from the first one.
    func start(at time: Duration) {
        if isGated { gate?.start(at: time) }
    }

    /// What the head of a text capture tells.
    package func learn(_ head: CaptureFileFacts) {
        (conversation ?? makeConversation()).learn(head)
    }

    /// The capture has ended (also in an error): delivers what was unfinished. Another capture may follow.
    package func finishCapture() throws {
        try conversation?.finish()
        place = CapturePlace()
        if doubt == .refuted { rejectDoubtful() } else { try releaseDoubtful() }
        try release(before: .max)
        doubt = .open
        lastPeers = peers
        conversation = nil
    }

    private func makeConversation() -> ConversationReader {
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
        case .message: if !origin.isDoubtful { try refuteDoubts(for: origin.side.peer) }
        case .command: break
        }
    }

    // MARK: records

    private func take(_ batch: RecordBatch, _ origin: TrafficOrigin) throws {
        let peer = origin.side.peer
        let account = account(of: peer, batch, origin)
        // Whose log a bottle has is no mere lookalike.
        let isDoubtful = origin.isDoubtful && !ledger.isTrusted(account)
        if !isDoubtful {
            let isNews = ledger.trust(account)
            try refuteDoubts(for: peer)
            if isNews, !doubtful.isEmpty { try settleDoubtful(for: peer) }
        }
        if let wanted = options.bottle, (peer.address ?? ledger.address(of: account)) != wanted { return }
        if isDoubtful, doubt == .refuted {
            tally.lookalikes += batch.bytes.count / DrinkRecord.size
            return
        }
        let others = conversation?.openLogs.contains { $0 !== origin.side } ?? false
        let route = isDoubtful && doubt == .open ? Route.doubtful : others || !waiting.isEmpty ? .waiting : .direct
        try take(batch, peer, account, route)
        if route != .direct, !waiting.isEmpty { try releaseInOrder(after: origin.side) }
    }

    /// Whose drinks these are: the peer's own, or somebody's whose log has them already.
    private func account(of peer: BottlePeer, _ batch: RecordBatch, _ origin: TrafficOrigin) -> DrinkLedger.Account {
        let own = peer.account ?? ledger.account(of: peer.address, isSure: !peer.isAddressPrivate)
        peer.account = own
        let connection = origin.side.connection
        var holder = ledger.holder(of: own)
        let mask: UInt64 = options.dialect == .strict ? 0xFF : 0xFFFF
        let first = origin.side.firstFrame, capture = captures
        // A bottle has one connection at a time: who spoke on another since this one began is somebody else.
        while let other = ledger.knower(
            of: batch.bytes, mask: mask, besides: holder,
            {
                $0.capture != capture || $0.adapter != connection.adapter || $0.connection == connection.id
                    || $0.frame <= first
            })
        {
            holder = ledger.merge(holder, other)
        }
        if holder != own, peer.address == nil, !peer.isHost { peer.address = ledger.address(of: holder) }
        ledger.see(
            holder,
            DrinkLedger.Sighting(
                capture: capture, adapter: connection.adapter, connection: connection.id,
                frame: batch.sources.last?.frame ?? 0))
        return holder
    }

    /// Where a batch's deliveries go.
    private enum Route {
        case direct
        /// Another transfer is under way that holds earlier frames.
        case waiting
        case doubtful
    }

    /// The loop that a large capture spends its time in: nothing in it allocates, and a drink that is known costs one
    /// look-up.
    private func take(_ batch: RecordBatch, _ peer: BottlePeer, _ account: DrinkLedger.Account, _ route: Route) throws {
        let ledger = ledger, isRaw = options.isRaw, isStrict = options.dialect == .strict
        let mask: UInt64 = isStrict ? 0xFF : 0xFFFF
        var drinks = ledger.drinks(of: account)
        // Counted here and added once: each look at a variable of the reader is checked, which costs as much as a
        // record.
        var counts = Tally()
        counts.transfers = 1
        counts.unfinishedTransfers = batch.failure == nil ? 0 : 1
        defer { tally.add(counts) }
        try batch.forEachRecord { raw, source in
            if isStrict, try isRefused(raw, source, peer) { return }
            let head = UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self))
            let wall = head >> 16, amount = UInt16(truncatingIfNeeded: head & mask)
            var isNew: Bool
            if raw[12] == 0 {
                if let drinks {
                    isNew =
                        drinks.pointee.insert(wall: wall, amount: amount)
                        && ledger.insert(account, wall: wall, amount: amount)
                } else {
                    isNew = ledger.insert(account, wall: wall, amount: amount)
                    drinks = ledger.drinks(of: account)
                }
                if !isNew {
                    counts.duplicates += 1
                    if !isRaw { return }
                }
            } else {
                counts.bookkeeping += 1
                guard isRaw else { return }
                isNew = ledger.insertBookkeeping(account, wall: wall, amount: amount)
            }
            try pass(raw, head, source, peer, account, isNew, route, &counts)
        }
    }

    private func pass(
        _ raw: UnsafeRawBufferPointer, _ head: UInt64, _ source: RecordBatch.Source, _ peer: BottlePeer,
        _ account: DrinkLedger.Account, _ isNew: Bool, _ route: Route,
        _ counts: inout Tally
    ) throws {
        guard let record = try? DrinkRecord(decoding: raw, dialect: options.dialect) else { return }
        let delivery = Delivery(
            bottle: peer, account: account, model: peer.model ?? options.model, record: record,
            year: record.year ?? year(of: record, at: source.time),
            frame: source.frame, time: source.time, isDuplicate: !isNew, head: head,
            tail: UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 5, as: UInt64.self)) & 0xFF_FFFF_FFFF)
        switch route {
        case .direct:
            if isNew, record.isDrink { counts.note(record) }
            try sink(delivery)
        case .waiting:
            waiting.append(delivery)
            earliestWaiting = min(earliestWaiting, delivery.frame)
            if waiting.count > Self.mostWaiting { try release(before: .max) }
        case .doubtful:
            guard doubt == .open else { return try deliver(delivery) }
            doubtful.append(delivery)
            if doubtful.count > Self.mostDoubtful { try releaseDoubtful() }
        }
    }

    /// Whose drinks a peer's are; `nil`: it delivered none.
    func holder(of peer: BottlePeer) -> DrinkLedger.Account? { peer.account.map { ledger.holder(of: $0) } }

    func deliver(_ delivery: borrowing Delivery) throws {
        if delivery.record.isDrink, !delivery.isDuplicate { tally.note(delivery.record) }
        try sink(delivery)
    }

    private func isRefused(_ raw: UnsafeRawBufferPointer, _ source: RecordBatch.Source, _ peer: BottlePeer) throws
        -> Bool
    {
        do {
            _ = try DrinkRecord(decoding: raw, dialect: .strict)
            return false
        } catch {
            tally.refused += 1
            try onRefused?(RefusedRecord(bottle: peer, raw: [UInt8](raw), reason: error, frame: source.frame))
            return true
        }
    }

    /// The latest year in which the date exists and lies no more than a day ahead of the packet (tracker law A2, rule
    /// 1). Captures without dates count from 1970: then it is today's, or the latest before that has the date.
    private func year(of record: DrinkRecord, at time: Duration?) -> Int {
        let seconds = time?.components.seconds
        let captured = seconds.map { CivilTime(secondsSince1970: $0).year }.flatMap {
            (2015...2099).contains($0) ? $0 : nil
        }
        let latest = captured.map { $0 + 1 } ?? options.hostYear
        for year in stride(from: latest, to: latest - Self.yearsBetweenLeaps, by: -1) {
            let days = CivilTime.days(year: year, month: record.month, day: record.day)
            let exists = CivilTime(secondsSince1970: days * 86_400).day == record.day
            let second = Int64((record.hour * 60 + record.minute) * 60 + record.second)
            if exists, captured == nil || days * 86_400 + second <= (seconds ?? 0) + 86_400 { return year }
        }
        // No year has it: the record is told as suspect.
        return captured ?? options.hostYear
    }

    /// Around 1900 and 2100 eight years pass without a 29 February; one more for the year ahead.
    private static let yearsBetweenLeaps = 9
}
