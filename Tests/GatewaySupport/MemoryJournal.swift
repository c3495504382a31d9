import Synchronization
package import TrackerCore

/// The journal in memory: the guarantees of the one on disk without a disk, and writes that fail on request. It passes
/// the same tests (`JournalConformanceTests`), because the simulation uses it.
package final class MemoryJournal: Journal {
    struct Row {
        var id: Int64
        var bottle: Int
        var entry: JournalEntry
        var isSuperseded = false

        var isDated: Bool { if case .quarantined = entry.verdict { false } else { true } }
        /// Whether an untrusted clock or a fragment gave the time of receipt.
        var hasUncertainReceipt: Bool {
            quarantineReason == JournalQuarantine.hostClock || quarantineReason == JournalQuarantine.fragmented
        }
        var isDrink: Bool { if case .drink = entry.verdict { true } else { false } }
        var quarantineReason: String? { if case .quarantined(let reason) = entry.verdict { reason } else { nil } }
    }

    struct Bottle {
        var origin: String
        var names: Set<String>
        var alias: String?
        var isOwn = false
        var lastCompletePoll: Instant?
        var lastAcknowledgingPoll: Instant?
        var largestReading = 0
    }

    package struct WriteFailed: Error, CustomStringConvertible {
        package let description = "The disk is full (as planned)."
    }

    struct State {
        var rows: [Row] = []
        /// Rows by bottle and first eight bytes.
        var index: [Index: [Int]] = [:]
        var bottles: [Bottle] = []
        /// Valid zones, cached because reading the rules of a zone is slow.
        var zones: Set<String> = ["UTC"]
        var quarantine: [[UInt8]] = []
        var polls: [PollRecord] = []
        var writes = 0
    }

    struct Index: Hashable {
        var bottle: Int
        var identity: [UInt8]
    }

    /// The limit of unreadable pieces, as in the journal on disk.
    package static let junkLimit = 1000

    private let state = Mutex(State())
    private let failsAt: @Sendable (Int) -> Bool
    private let loses: @Sendable (JournalEntry) -> Bool

    /// - Parameters:
    ///   - failsAt: whether the n-th write (from 0) fails.
    ///   - loses: whether an entry is confirmed and not stored, to break the guarantee on purpose.
    package init(
        failsAt: @escaping @Sendable (Int) -> Bool = { _ in false },
        loses: @escaping @Sendable (JournalEntry) -> Bool = { _ in false }
    ) {
        (self.failsAt, self.loses) = (failsAt, loses)
    }

    /// Every record with its current reading and date.
    package var entries: [JournalEntry] { state.withLock { $0.rows.filter { !$0.isSuperseded }.map(\.entry) } }
    package var polls: [PollRecord] { state.withLock { $0.polls } }
    package var quarantine: [[UInt8]] { state.withLock { $0.quarantine } }

    /// Whether the journal has these bytes as a record in any form. Unreadable bytes do not count, even if they are
    /// equal.
    package func holds(_ raw: [UInt8]) -> Bool {
        state.withLock { state in state.rows.contains { $0.entry.raw == raw } }
    }

    /// Simulates the restore of an empty backup.
    package func restoreNothing() { state.withLock { ($0.rows, $0.index) = ([], [:]) } }

    package func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
        try write { state in
            try entries.map { entry in
                if loses(entry) { return .stored }
                if case .drink(_, let zone) = entry.verdict, !state.zones.contains(zone) {
                    _ = try Zone(zone)
                    state.zones.insert(zone)
                }
                return state.store(entry)
            }
        }
    }

    package func storedState(of names: BottleNames) throws -> StoredBottleState {
        state.withLock { $0.storedState(of: names.identity) }
    }

    package func adopt(_ names: BottleNames) throws {
        guard state.withLock({ !$0.isOwn(names) }) else { return }
        try write { state in
            if names.wasAdopted, let bottle = state.known(names.identity), !state.bottles[bottle].isOwn {
                throw ReleasedBottle(names.identity)
            }
            state.introduce(names)
            state.bottles[state.identifier(of: names.identity)].isOwn = true
        }
    }

    package func isOwn(_ bottle: String) throws -> Bool {
        state.withLock { state in state.known(bottle).map { state.bottles[$0].isOwn } ?? true }
    }

    package func release(_ bottle: String) {
        state.withLock { state in state.known(bottle).map { state.bottles[$0].isOwn = false } }
    }

    package var own: [Set<String>] { state.withLock { $0.bottles.filter(\.isOwn).map(\.names) } }

    package func reviewableRecords(of bottle: String, reading: String, after id: Int64, limit: Int) throws
        -> [ReviewableRecord]
    {
        state.withLock { state in
            guard let bottle = state.known(bottle) else { return [] }
            let rows = state.rows.lazy.filter {
                $0.bottle == bottle && $0.id > id && !$0.isSuperseded && $0.isWorthALook(reading)
            }
            return rows.prefix(limit).map {
                ReviewableRecord(
                    id: $0.id, bottle: state.bottles[bottle].origin, raw: $0.entry.raw, received: $0.entry.received,
                    quarantineReason: $0.quarantineReason)
            }
        }
    }

    package func finishPoll(_ report: PollRecord) throws {
        try write { state in
            state.polls.append(report)
            let bottle = state.identifier(of: report.bottle)
            state.bottles[bottle].largestReading = max(state.bottles[bottle].largestReading, report.largestReading)
            guard !report.isClockUntrusted else { return }
            if report.hasAcknowledged {
                state.bottles[bottle].lastAcknowledgingPoll = report.endedAt
            } else if let last = state.bottles[bottle].lastAcknowledgingPoll, last > report.endedAt {
                state.bottles[bottle].lastAcknowledgingPoll = nil
            }
            if report.complete {
                state.bottles[bottle].lastCompletePoll = report.endedAt
            } else if let last = state.bottles[bottle].lastCompletePoll, last > report.endedAt {
                state.bottles[bottle].lastCompletePoll = nil
            }
        }
    }

    package func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try write { state in
            guard !state.quarantine.contains(bytes) else { return }
            state.quarantine.append(bytes)
            if state.quarantine.count > Self.junkLimit { state.quarantine.removeFirst() }
        }
    }

    private func write<Result: Sendable>(_ body: (inout sending State) throws -> sending Result) throws -> Result {
        try state.withLock { state in
            let before = state
            defer { state.writes = before.writes + 1 }
            if failsAt(state.writes) { throw WriteFailed() }
            do {
                return try body(&state)
            } catch {
                state = before
                throw error
            }
        }
    }
}

extension MemoryJournal.Row {
    fileprivate mutating func replace(by entry: JournalEntry) {
        let received = hasUncertainReceipt ? entry.received : self.entry.received
        self.entry = entry
        self.entry.received = received
    }

    fileprivate func isWorthALook(_ reading: String) -> Bool {
        guard let quarantineReason else { return entry.reading.map { $0 != reading } ?? false }
        if quarantineReason == JournalQuarantine.bottleClock { return false }
        return
            !(["impossibleDate", "implausibleYear", JournalQuarantine.rejectedByDialect].contains(quarantineReason)
            && entry.reading == reading)
    }
}

extension MemoryJournal.State {
    fileprivate func known(_ name: String) -> Int? { bottles.firstIndex { $0.names.contains(name) } }

    fileprivate mutating func identifier(of name: String) -> Int {
        if let known = known(name) { return known }
        bottles.append(MemoryJournal.Bottle(origin: name, names: [name]))
        return bottles.count - 1
    }

    fileprivate func isOwn(_ names: BottleNames) -> Bool {
        guard let bottle = known(names.identity), bottles[bottle].isOwn else { return false }
        guard let alias = names.alias else { return true }
        return known(alias) != nil || bottles[bottle].alias != nil
    }

    fileprivate mutating func introduce(_ names: BottleNames) {
        let bottle = identifier(of: names.identity)
        guard let alias = names.alias, alias != names.identity, known(alias) == nil, bottles[bottle].alias == nil else {
            return
        }
        bottles[bottle].names.insert(alias)
        bottles[bottle].alias = alias
    }

    fileprivate func storedState(of name: String) -> StoredBottleState {
        let bottle = known(name).map { bottles[$0] }
        return StoredBottleState(
            lastCompletePoll: bottle?.lastCompletePoll, lastAcknowledgingPoll: bottle?.lastAcknowledgingPoll,
            largestReading: bottle?.largestReading ?? 0)
    }

    fileprivate mutating func store(_ entry: JournalEntry) -> JournalOutcome {
        let bottle = identifier(of: entry.bottle)
        let key = MemoryJournal.Index(bottle: bottle, identity: Array(entry.identity))
        let equal = index[key] ?? []
        let dated = equal.first { rows[$0].isDated && rows[$0].entry.isFlaggedDrink == entry.isFlaggedDrink }
        let waiting = equal.first { !rows[$0].isDated && !rows[$0].isSuperseded && rows[$0].entry.raw == entry.raw }
        if case .quarantined = entry.verdict {
            if let dated {
                rows[dated].entry.reading = entry.reading ?? rows[dated].entry.reading
                return .duplicate
            }
            if let waiting {
                guard rows[waiting].quarantineReason != JournalQuarantine.bottleClock else { return .waiting }
                // A complete record is no longer quarantined, also for an older poll.
                guard
                    entry.verdict != .quarantined(reason: JournalQuarantine.fragmented)
                        || rows[waiting].quarantineReason == JournalQuarantine.fragmented
                else { return .waiting }
                guard
                    entry.verdict != .quarantined(reason: JournalQuarantine.hostClock)
                        || rows[waiting].hasUncertainReceipt
                else { return .waiting }
                if entry.verdict == rows[waiting].entry.verdict, entry.reading == rows[waiting].entry.reading {
                    return .waiting
                }
                rows[waiting].replace(by: entry)
                return .waiting
            }
        } else if let dated {
            if let waiting { rows[waiting].isSuperseded = true }
            if let reading = entry.reading, reading != rows[dated].entry.reading { reread(dated, entry) }
            return .duplicate
        } else if let waiting {
            rows[waiting].replace(by: entry)
            return .promoted
        }
        rows.append(MemoryJournal.Row(id: Int64(rows.count + 1), bottle: bottle, entry: entry))
        index[key, default: []].append(rows.count - 1)
        return .stored
    }

    /// An unchanged wall clock keeps its instant.
    private mutating func reread(_ row: Int, _ entry: JournalEntry) {
        let old = rows[row].entry
        rows[row].entry = entry
        rows[row].entry.raw = old.raw
        rows[row].entry.received = old.received
        if old.wall == entry.wall, case .drink = old.verdict, case .drink = entry.verdict {
            rows[row].entry.verdict = old.verdict
        }
    }
}
