import Synchronization
import TrackerCore

/// A journal on a disk that is full at times: a failed write leaves nothing.
final class DiskJournal: Journal {
    struct DiskFull: Error, CustomStringConvertible {
        let description = "The disk is full (as planned)."
    }

    private struct State {
        var writes = 0
        var isFull = false
    }

    let base: any ScenarioJournal
    private let failing: Set<Int>
    private let state = Mutex(State())

    /// - Parameter failing: the numbers of the failing writes, from 0.
    init(_ base: any ScenarioJournal, failing: Set<Int>) {
        self.base = base
        self.failing = failing
    }

    func setFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }

    private func write() throws {
        let fails = state.withLock { state in
            defer { state.writes += 1 }
            return state.isFull || failing.contains(state.writes)
        }
        if fails { throw DiskFull() }
    }

    func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
        try write()
        return try base.append(entries)
    }

    func adopt(_ names: BottleNames) throws {
        try write()
        try base.adopt(names)
    }

    func finishPoll(_ report: PollRecord) throws {
        try write()
        try base.finishPoll(report)
    }

    func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try write()
        try base.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: received)
    }

    func isOwn(_ bottle: String) throws -> Bool { try base.isOwn(bottle) }

    func storedState(of names: BottleNames) throws -> StoredBottleState { try base.storedState(of: names) }

    func reviewableRecords(of bottle: String, reading: String, after id: Int64, limit: Int) throws -> [ReviewableRecord]
    {
        try base.reviewableRecords(of: bottle, reading: reading, after: id, limit: limit)
    }
}
