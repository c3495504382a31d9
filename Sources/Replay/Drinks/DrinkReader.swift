package import Bluetooth
import BottleProtocol
package import Captures

/// Finds the drinks and the host's commands in captures, and detects repeated deliveries of the same drink (protocol
/// spec P3.5).
package final class DrinkReader {
    package let options: Options
    package private(set) var tally = Tally()
    /// Called for each delivery of a record that the strict dialect rejects.
    package var onRejected: ((RejectedRecord) throws -> Void)?
    /// Called for each command that the host wrote to a bottle.
    package var onCommand: ((ObservedCommand) throws -> Void)?
    private let sink: ((borrowing Delivery) throws -> Void)?
    /// Shared by all captures, because overlapping captures have the same drinks.
    private let knownDrinks = KnownDrinks()
    /// The state at the end of the last file, for a next file that continues it.
    private var recording = RecordingState()
    private var conversation: ConversationReader?
    private var lastPeers: [BottlePeer] = []
    /// The records of devices that resemble a bottle, held until the capture shows a confirmed bottle or ends.
    private var heldBatches: [(batch: RecordBatch, peer: BottlePeer)] = []
    private var heldRecordCount = 0
    private static let maximumHeldRecords = 20_000
    private var decision = Decision.undecided
    private var selector: TrafficSelector
    private let hasFilter: Bool

    /// The decision about records of devices that resemble a bottle only by the format of their values.
    private enum Decision {
        case undecided
        /// The capture has a confirmed bottle, so these records do not count.
        case notCounted
        /// The capture has no confirmed bottle up to the limit of held records, so they count.
        case accepted
    }

    /// - Parameter sink: called for each delivery; can throw to end the reading. Without it, only commands are read.
    package init(_ options: Options, _ sink: ((borrowing Delivery) throws -> Void)? = nil) {
        self.options = options
        // The device selects bottles, not PDUs.
        var filter = options.filter
        filter.device = nil
        hasFilter = !filter.isEmpty
        selector = TrafficSelector(filter)
        self.sink = sink
    }

    package var peers: [BottlePeer] { conversation?.peers ?? lastPeers }

    /// Reads a capture. Connections that are still open continue in the next file.
    /// - Parameters:
    ///   - isLast: whether no file follows. If one follows, open transfers can continue in it.
    ///   - onEvent: called for each event before it is read.
    package func read(_ file: inout CaptureFile, isLast: Bool = true, _ onEvent: (ConversationEvent) -> Void = { _ in })
        throws
    {
        file.onHeader = addNames(from:)
        // Local variables, because the runtime would check each access to a stored property.
        var recording = recording, reader: ConversationReader?
        var failure: (any Error)?
        do {
            failure = try file.readEvents(continuing: &recording, continuesNumbers: false) {
                try finishCapture()
                _ = makeConversation()
            } onPacket: { packet in
                start(at: packet.time)
            } _: { event, pdu in
                onEvent(event)
                if hasFilter, !selector.passes(event, pdu) { return }
                let current = reader ?? conversation ?? makeConversation()
                reader = current
                try current.receive(event, pdu)
            }
        } catch {
            failure = error
        }
        self.recording = recording
        if isLast { try finishCapture() }
        if let failure { throw failure }
    }

    package func receive(_ event: ConversationEvent, _ bytes: RawSpan) throws {
        if hasFilter, !selector.passes(event, bytes) { return }
        try (conversation ?? makeConversation()).receive(event, bytes)
    }

    func start(at time: Duration?) {
        if hasFilter { selector.start(at: time) }
    }

    package func addNames(from info: CaptureFileInfo) { (conversation ?? makeConversation()).addNames(from: info) }

    /// Ends the capture (even after an error), and delivers incomplete data. Another capture can follow.
    package func finishCapture() throws {
        try conversation?.finish()
        recording = RecordingState()
        if decision == .notCounted {
            tally.lookalikes += heldRecordCount
        } else {
            try acceptHeldRecords()
        }
        (decision, heldBatches, heldRecordCount) = (.undecided, [], 0)
        lastPeers = peers
        conversation = nil
    }

    private func makeConversation() -> ConversationReader {
        lastPeers = []
        let reader = ConversationReader(handles: options.handles) { [unowned self] traffic, origin in
            try self.process(traffic, origin)
        }
        conversation = reader
        return reader
    }

    private func process(_ traffic: BottleTraffic, _ origin: TrafficOrigin) throws {
        switch traffic {
        case .records(let batch): if sink != nil { try process(batch, origin) }
        case .malformed: tally.malformed += 1
        case .message: if !origin.hasWeakEvidence { try rejectLookalikes(for: origin.server.peer) }
        case .command(let command, let value, let characteristic):
            let peer = origin.server.peer
            if let selected = options.filter.device, peer.address != selected { return }
            try onCommand?(
                ObservedCommand(
                    bottle: peer, command: command, bytes: value, characteristic: characteristic,
                    frame: origin.observation.frame, time: origin.observation.time))
        }
    }

    private func process(_ batch: RecordBatch, _ origin: TrafficOrigin) throws {
        let peer = origin.server.peer
        if !origin.hasWeakEvidence { try rejectLookalikes(for: peer) }
        if let selected = options.filter.device, peer.address != selected { return }
        if origin.hasWeakEvidence, decision != .accepted {
            guard decision == .undecided else { return tally.lookalikes += batch.count }
            heldBatches.append((batch, peer))
            heldRecordCount += batch.count
            if heldRecordCount > Self.maximumHeldRecords { try acceptHeldRecords() }
            return
        }
        try process(batch, peer)
    }

    /// Processes the records of a transfer. For large captures: no allocation, one look-up per known drink.
    private func process(_ batch: RecordBatch, _ peer: BottlePeer) throws {
        let knownDrinks = knownDrinks, isRaw = options.isRaw, isStrict = options.dialect == .strict
        let mask: UInt64 = isStrict ? 0xFF : 0xFFFF
        let address = peer.isAddressPrivate ? nil : peer.address
        let (drinks, others) = knownDrinks.drinks(of: address)
        // Count locally and add once, because each access to a property of the reader is checked at run time.
        var counts = Tally()
        counts.transfers = 1
        counts.unfinishedTransfers = batch.isWholeFrame ? 0 : 1
        defer {
            tally += counts
            peer.duplicateCount += counts.duplicates
        }
        try batch.forEachRecord { raw, source in
            if isStrict, try isRejected(raw, source, peer) { return }
            let head = UInt64(bigEndian: raw.loadUnaligned(as: UInt64.self))
            let wall = head >> 16, amount = UInt16(truncatingIfNeeded: head & mask)
            let isNew: Bool
            if raw[12] == 0 {
                // After a power loss, the clocks of all bottles show the same time.
                isNew =
                    drinks.insert(wall: wall, amount: amount)
                    && (wall >> 40 < 15 || !others.contains { $0.contains(wall: wall, amount: amount) })
                if !isNew {
                    counts.duplicates += 1
                    if !isRaw { return }
                }
            } else {
                counts.bookkeeping += 1
                guard isRaw else { return }
                isNew = knownDrinks.insertBookkeeping(of: address, wall: wall, amount: amount)
            }
            try deliver(raw, source, peer, isNew: isNew, &counts)
        }
    }

    private func deliver(
        _ raw: UnsafeRawBufferPointer, _ source: RecordBatch.Source, _ peer: BottlePeer, isNew: Bool,
        _ counts: inout Tally
    ) throws {
        guard let record = try? DrinkRecord(decoding: raw, dialect: options.dialect) else { return }
        let delivery = Delivery(
            bottle: peer, model: peer.model ?? options.model, record: record,
            year: record.year ?? year(of: record, at: source.time),
            frame: source.frame, time: source.time, isDuplicate: !isNew)
        if isNew, record.isDrink { counts.add(record) }
        try sink?(delivery)
    }

    /// Decides that held records do not count, because `peer` is a confirmed bottle (protocol spec P3.4, rule 8). Held
    /// records of `peer` itself count.
    private func rejectLookalikes(for peer: BottlePeer) throws {
        if decision == .undecided { decision = .notCounted }
        guard !heldBatches.isEmpty else { return }
        let ofPeer = heldBatches.filter { $0.peer === peer }
        heldBatches.removeAll { $0.peer === peer }
        for (batch, _) in ofPeer {
            heldRecordCount -= batch.count
            try process(batch, peer)
        }
    }

    private func acceptHeldRecords() throws {
        decision = .accepted
        let batches = heldBatches
        (heldBatches, heldRecordCount) = ([], 0)
        for (batch, peer) in batches { try process(batch, peer) }
    }

    private func isRejected(_ raw: UnsafeRawBufferPointer, _ source: RecordBatch.Source, _ peer: BottlePeer) throws
        -> Bool
    {
        do {
            _ = try DrinkRecord(decoding: raw, dialect: .strict)
            return false
        } catch {
            tally.rejected += 1
            try onRejected?(RejectedRecord(bottle: peer, raw: [UInt8](raw), reason: error, frame: source.frame))
            return true
        }
    }

    /// The latest year in which the date exists and is at most a day ahead of the packet (tracker spec A2, rule 1).
    /// Captures without dates count from 1970: then the host's year applies, or the latest earlier one with the date.
    private func year(of record: DrinkRecord, at time: Duration?) -> Int {
        let seconds = time?.components.seconds
        let captured = seconds.map { CivilTime(secondsSince1970: $0).year }.flatMap {
            (2015...2099).contains($0) ? $0 : nil
        }
        let latest = captured.map { $0 + 1 } ?? options.hostYear
        // Around 1900 and 2100, eight years pass without a 29 February; one more for the year ahead.
        for year in stride(from: latest, to: latest - 9, by: -1) {
            let days = CivilTime.days(year: year, month: record.month, day: record.day)
            let exists = CivilTime(secondsSince1970: days * 86_400).day == record.day
            let second = Int64((record.hour * 60 + record.minute) * 60 + record.second)
            if exists, captured == nil || days * 86_400 + second <= (seconds ?? 0) + 86_400 { return year }
        }
        // The date exists in no year, so the record is suspect.
        return captured ?? options.hostYear
    }
}

extension ConversationReassembler {
    /// Whether a file with this first packet continues a file that ended at `last`. After ten minutes, the same
    /// connection handle can be another connection.
    func isContinued(at time: Duration?, after last: Duration?) -> Bool {
        guard let time, let last, hasOpenConnections else { return false }
        return time >= last && time - last <= .seconds(600)
    }
}
