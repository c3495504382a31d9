import BottleProtocol

/// What one poll has seen of a bottle's log, over all its connections: from it follows how many of the bottle's oldest
/// records may be acknowledged. The argument is in `LogDrain`.
struct LogEvidence: Hashable {
    /// An acknowledgement of which it is not known yet whether the bottle took it.
    struct Told: Hashable {
        /// How many records it named.
        var count: Int
        /// The log as it was read before.
        var before: [[UInt8]]
        /// Readings since in which the log had not become shorter.
        var looks = 0
    }

    enum Verdict: Hashable {
        /// Nothing was waiting for an answer.
        case nothing
        /// The records are gone.
        case taken
        /// They are still there at the first look, which may have been at an answer from before.
        case doubtful
        /// They are still there.
        case kept
    }

    private static let readingsKept = 12
    /// The records of each whole reading, latest last.
    private(set) var readings: [Set<[UInt8]>] = []
    /// The last whole reading, oldest record first.
    private(set) var latest: [[UInt8]] = []
    /// The most records that came in one reading: the bottle's ring holds that many at least.
    var capacity = 0
    /// Something was noticed to be missing, so that more may be missing unnoticed.
    var isLossy = false
    /// Several frames, or the draft profile's packets, came in one notification each: a single loss leaves no trace.
    var isFragile = false
    private(set) var told: Told?
    /// Records of acknowledgements that the bottle took: no reading brought them again.
    private(set) var forgotten: Set<[UInt8]> = []
    /// Those that only the latest reading lacked. It may have been the rest of an earlier answer, or a part of one: the
    /// next one tells.
    private var missed: Set<[UInt8]> = []
    /// Bytes of a log came, whole or not: there is one.
    var hasBegun = false
    /// The latest reading may be of another question, or must be confirmed by another one: what it lacked is not known
    /// to be gone.
    var isOpen = false
    /// Acknowledgements that the bottle did not take.
    private(set) var refusals = 0
    /// Readings in a row that brought nothing.
    private(set) var empties = 0
    /// "Nothing" was said where something must be, and not believed.
    private var isNothingDoubted = false

    /// Records that the bottle was told to forget last, and nobody knows whether it did.
    var unconfirmed: Int { (told?.count ?? 0) + missed.count }

    /// The bottle hung up on an acknowledgement, or the link was lost right then.
    var hungUp = false

    /// The latest two readings brought the same.
    var isAgreed: Bool { readings.count > 1 && readings[readings.count - 2].isSuperset(of: latest) }

    /// Whether none of the records was in the bottle: as many readings lacked all of them, one after the other, as must
    /// bring one that is there.
    func denies(_ records: Set<[UInt8]>) -> Bool {
        records.isEmpty
            || readings.count >= readingsNeeded && readings.suffix(readingsNeeded).allSatisfy(records.isDisjoint)
    }

    /// How many readings must have covered a record's place before it may be acknowledged. One unseen loss in that many
    /// readings would have to strike the same place each time.
    var readingsNeeded: Int { (isFragile ? 4 : 2) * (isLossy ? 3 : 2) / 2 }

    /// A whole reading of the log: records told apart by their bytes, oldest first.
    mutating func note(_ log: [[UInt8]]) -> Verdict {
        let records = Set(log)
        noteLosses(log, records)
        conclude(lacking: records)
        let verdict = judge(log, records)
        capacity = max(capacity, log.count)
        (empties, isNothingDoubted) = (log.isEmpty ? empties + 1 : 0, false)
        latest = log
        readings.append(records)
        if readings.count > Self.readingsKept { readings.removeFirst() }
        return verdict
    }

    /// "Nothing" where something must be: the first time in a row it is not believed, and is no reading.
    mutating func disbelievesNothing() -> Bool {
        defer { isNothingDoubted = true }
        return !isNothingDoubted
    }

    /// The bottle is being told to forget so many of its oldest.
    mutating func tell(_ count: Int) { told = Told(count: count, before: latest) }

    /// There will be no other reading: what the last one lacked is gone, unless it still had to be confirmed.
    mutating func conclude() {
        guard !isOpen else { return }
        conclude(lacking: [])
    }

    private mutating func conclude(lacking records: Set<[UInt8]>) {
        forgotten = forgotten.union(missed).subtracting(records)
        missed = []
    }

    /// The bottle refused in words.
    mutating func refused() { told = nil }

    /// How many of the oldest records of the latest reading may be acknowledged.
    /// - Parameters:
    ///   - sips: records that the bottle may have added since the reading began.
    ///   - isJournaled: the journal has it as a record.
    ///   - wasKnown: the journal had it before this poll, without a doubt: an earlier poll's reading brought it.
    func acknowledgeable(sips: Int, isJournaled: ([UInt8]) -> Bool, wasKnown: ([UInt8]) -> Bool) -> Int {
        let covered = covered(wasKnown)
        let spare = min(max(0, latest.count + sips - capacity), latest.count / 2)
        let journaled = latest.firstIndex { !isJournaled($0) } ?? latest.count
        return max(0, min(covered - spare, journaled))
    }

    /// How many of the bottle's oldest records have had their chance to arrive in as many readings as are needed.
    private func covered(_ wasKnown: ([UInt8]) -> Bool) -> Int {
        var shared = readings.dropLast().map { reading in latest.count { reading.contains($0) } }
        let known = latest.count(where: wasKnown)
        shared += Array(repeating: known, count: readingsNeeded / 2)
        shared.sort(by: >)
        let others = readingsNeeded - 1
        return shared.count >= others ? shared[others - 1] : 0
    }

    /// Between what two readings have in common neither may lack what the other has: a log loses its oldest and gains
    /// newest.
    private mutating func noteLosses(_ log: [[UInt8]], _ records: Set<[UInt8]>) {
        guard let before = readings.last, !latest.isEmpty, !log.isEmpty else { return }
        if let first = latest.firstIndex(where: records.contains),
            latest[first...].contains(where: { !records.contains($0) })
        {
            isLossy = true
        }
        if let last = log.lastIndex(where: before.contains), log[...last].contains(where: { !before.contains($0) }) {
            isLossy = true
        }
    }

    /// Whether the last acknowledgement was taken: then its records are gone. New records alone push out no more than
    /// they are themselves.
    private mutating func judge(_ log: [[UInt8]], _ records: Set<[UInt8]>) -> Verdict {
        guard let told else { return .nothing }
        let before = Set(told.before)
        let gone = gone(of: told.before, log, records)
        let fresh = log.count { !before.contains($0) }
        if gone.count >= told.count || gone.count > fresh {
            missed = Set(gone.prefix(told.count))
            self.told = nil
            return .taken
        }
        self.told?.looks += 1
        guard told.looks > 0 else { return .doubtful }
        self.told = nil
        refusals += 1
        return .kept
    }

    /// What a log lost of what it was: its oldest. What is missing after a record that is still there was lost on the
    /// way, or comes late; only where the records come in another order than before can nothing be said of that.
    private func gone(of before: [[UInt8]], _ log: [[UInt8]], _ records: Set<[UInt8]>) -> [[UInt8]] {
        let left = before.filter(records.contains)
        let isInOrder = log.filter(Set(left).contains).elementsEqual(left)
        return isInOrder ? Array(before.prefix { !records.contains($0) }) : before.filter { !records.contains($0) }
    }
}
