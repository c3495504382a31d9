import Synchronization
import TrackerCore

/// The journal's memory twin: the same promises without a disk, and writes that fail when told to.
public final class MemoryJournal: Journal {
    /// What identifies a record: the bottle's own fields, or its bytes where they are no date (`tracker.md` A6).
    public struct Key: Hashable, Sendable {
        var bottle: String
        var wall: WallTime?
        var amountMl: Int
        var isDrink: Bool
        var raw: [UInt8]?
    }

    public struct WriteFailed: Error, CustomStringConvertible {
        public let description = "The disk is full (as planned)."
    }

    struct State {
        var entries: [Key: JournalEntry] = [:]
        var appends = 0
        var quarantine: [[UInt8]] = []
        var polls: [PollRecord] = []
        var writes = 0
    }

    private let state = Mutex(State())
    private let failsAt: @Sendable (Int) -> Bool

    /// - Parameter failsAt: whether the n-th write (from 0) fails.
    public init(failsAt: @escaping @Sendable (Int) -> Bool = { _ in false }) {
        self.failsAt = failsAt
    }

    public var entries: [JournalEntry] { state.withLock { Array($0.entries.values) } }
    public var polls: [PollRecord] { state.withLock { $0.polls } }
    public var quarantine: [[UInt8]] { state.withLock { $0.quarantine } }
    public var appends: Int { state.withLock { $0.appends } }

    /// Every record that the journal holds in some form: entries and quarantined bytes.
    public func holds(_ raw: [UInt8]) -> Bool {
        state.withLock { state in state.entries.values.contains { $0.raw == raw } || state.quarantine.contains(raw) }
    }

    public static func key(_ entry: JournalEntry) -> Key {
        if case .notADrink(reason: "flag") = entry.verdict {
            return Key(bottle: entry.bottle, wall: entry.wall, amountMl: entry.amountMl, isDrink: false, raw: entry.wall == nil ? entry.raw : nil)
        }
        return Key(bottle: entry.bottle, wall: entry.wall, amountMl: entry.amountMl, isDrink: true, raw: entry.wall == nil ? entry.raw : nil)
    }

    public func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
        try write { state in
            state.appends += 1
            return entries.map { entry in
                let key = Self.key(entry)
                guard let known = state.entries[key] else {
                    state.entries[key] = entry
                    return .stored
                }
                if case .quarantined = known.verdict, case .drink = entry.verdict {
                    state.entries[key] = entry
                    return .promoted
                }
                return .duplicate
            }
        }
    }

    public func lastCompletePoll(of bottle: String) throws -> Instant? {
        state.withLock { $0.polls.last { $0.bottle == bottle && $0.complete }?.endedAt }
    }

    public func finishPoll(_ report: PollRecord) throws {
        try write { $0.polls.append(report) }
    }

    public func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try write { $0.quarantine.append(bytes) }
    }

    private func write<Result: Sendable>(_ body: (inout sending State) throws -> sending Result) throws -> Result {
        try state.withLock { state in
            defer { state.writes += 1 }
            if failsAt(state.writes) { throw WriteFailed() }
            return try body(&state)
        }
    }
}
