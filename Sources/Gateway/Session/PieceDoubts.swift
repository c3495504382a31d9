/// Records that came cut into pieces, and what is lacking until they are believed.
///
/// Nothing numbers the pieces of a frame. Where values of two frames are lost, what is left may have the length of one,
/// and at the joint stands a record that nobody drank. A dump in which something else is missing too is no second
/// opinion: on a bad link the same values are easily lost twice. So only readings of the whole log count, as many as an
/// acknowledgement needs (`LogEvidence.readingsNeeded`), and one more for each that must have brought the record and
/// did not. What an earlier poll has brought stands for half of them.
struct PieceDoubts: Hashable {
    /// How many more whole readings must bring each.
    private var lacking: [[UInt8]: Int] = [:]
    /// For how many of them an earlier poll stands.
    private var earlierPoll = 0

    init() {}

    /// Of a dump that was not whole: it dispels nothing.
    init(unproven: Set<[UInt8]>) {
        lacking = Dictionary(uniqueKeysWithValues: unproven.map { ($0, Int.max) })
    }

    /// - Parameters:
    ///   - log: a whole reading, oldest record first.
    ///   - before: the whole readings before it.
    ///   - needed: so many must bring a record.
    init(unproven: Set<[UInt8]>, in log: [[UInt8]], before: [Set<[UInt8]>], needed: Int) {
        self.init(unproven: unproven)
        earlierPoll = needed / 2
        guard !unproven.isEmpty else { return }
        // A log loses its oldest and gains newest: what lies between two that an earlier reading has was in the bottle
        // then.
        let spans = before.map { reading in
            (first: log.firstIndex(where: reading.contains), last: log.lastIndex(where: reading.contains))
        }
        for (index, raw) in log.enumerated() where unproven.contains(raw) {
            let brought = before.count { $0.contains(raw) }
            let denied = zip(before, spans).count { reading, span in
                guard let first = span.first, let last = span.last else { return false }
                return first < index && index < last && !reading.contains(raw)
            }
            lacking[raw] = needed - 1 - brought + denied
        }
    }

    /// Whether the record came in pieces, and in no other way.
    func concern(_ raw: [UInt8]) -> Bool { lacking[raw] != nil }

    /// - Parameter wasKnown: an earlier poll has brought it.
    func areDispelled(of raw: [UInt8], wasKnown: Bool) -> Bool {
        lacking[raw].map { $0 <= (wasKnown ? earlierPoll : 0) } ?? true
    }
}

extension LogEvidence {
    /// What of a dump is in doubt, by what was read before it.
    func doubts(of dump: LogDrain.Round) -> PieceDoubts {
        dump.isWhole
            ? PieceDoubts(unproven: dump.unproven, in: dump.records, before: readings, needed: readingsNeeded)
            : PieceDoubts(unproven: dump.unproven)
    }
}
