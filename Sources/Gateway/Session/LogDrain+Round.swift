// What a drain asks of its session, where it stands, and what it holds of a dump.
extension LogDrain {
    /// What the session is to do. Each is answered by the method named.
    enum Action: Hashable {
        /// Write the command that asks for the log: `asked`.
        case ask
        /// Read the response characteristic: `readValue`.
        case read
        /// Take the round (`takeRound`) and journal its records: `settled`.
        case settle
        /// Write the acknowledgement of so many records: `acknowledgementLeft` or `acknowledgementRefused`.
        case acknowledge(records: Int)
        /// The drain is over; see `complete` and `note`.
        case finish
    }

    enum Phase: Hashable {
        case idle, asking, receiving, lingering, reading, settling, acknowledging, finished
        /// Waits until nothing more comes of an earlier question.
        case quiet
    }

    /// One dump of the log, as far as it came.
    struct Round: Hashable {
        /// Records of whole frames, in order of arrival.
        var frames: [[[UInt8]]] = []
        /// Records of frames that were never whole: kept, not acknowledged.
        var loose: [[UInt8]] = []
        /// Records of another dump than this one (a late answer, a dump that began anew): kept, and they prove nothing
        /// here.
        var strays: [[UInt8]] = []
        /// Why this dump cannot be trusted to be whole.
        var flaw: String?
        /// How many frames had come before the first thing that went missing.
        var framesBeforeFlaw = 0
        /// The bottle said that this is all.
        var ended = false
        var notified = false
        /// The bottle said first whether records follow.
        var hasStatus = false
        /// Records of frames whose values were cut inside records, and those that came otherwise.
        var pieced: Set<[UInt8]> = []
        var proven: Set<[UInt8]> = []
        /// Frames that came in one notification.
        var singles = 0
        /// The value that was read last came again: the bottle shows one packet, and whether that is its log it does
        /// not say.
        var isOnePacket = false

        var isWhole: Bool { flaw == nil && loose.isEmpty }

        /// Records of whole frames, oldest first: a bottle that is read gives its newest packet first.
        var sequence: [[UInt8]] { (isNewestFirst ? frames.reversed() : frames).flatMap { $0 } }

        /// The sequence with each record once. An acknowledgement counts these: fewer than the bottle may have sent,
        /// never more.
        var records: [[UInt8]] {
            var seen: Set<[UInt8]> = []
            return sequence.filter { seen.insert($0).inserted }
        }

        /// No record came in a frame.
        var isEmpty: Bool { frames.allSatisfy(\.isEmpty) }

        /// Records that may be made of two: the length of a frame is a weak proof, values lost of two frames can add up
        /// to one.
        var unproven: Set<[UInt8]> { pieced.subtracting(proven) }

        /// Everything that came, for the journal.
        var all: [[UInt8]] { strays + sequence + loose }

        /// By the records' own clocks: more packets begin earlier than the packet before than later.
        private var isNewestFirst: Bool {
            guard !notified, frames.count > 1 else { return false }
            let starts = frames.compactMap { $0.first?.prefix(6) }
            let falling = zip(starts, starts.dropFirst()).count { $1.lexicographicallyPrecedes($0) }
            return falling * 2 > starts.count - 1
        }

        /// Whether these records of a whole frame are, or hold, what came before. `hasAll`: of unfinished frames
        /// nothing else is missing.
        func isRepeated(by records: [[UInt8]], hasAll: Bool) -> Bool {
            if frames.isEmpty { return hasAll && !loose.isEmpty && Set(loose).isSubset(of: records) }
            return frames.contains { !Set($0).isDisjoint(with: records) }
        }

        /// The dump began anew somewhere before this frame, which has come again. Where something went missing before
        /// the frame came first, it is not known to be the beginning: that may have come in between.
        mutating func beginAnew(with records: [[UInt8]]) {
            let first = frames.firstIndex { !Set($0).isDisjoint(with: records) } ?? .max
            let kept = first >= framesBeforeFlaw && first != .max ? flaw : nil
            beginAnew()
            flaw = kept
        }

        /// What came so far was another dump's.
        mutating func beginAnew() {
            strays += sequence + loose
            frames = []
            loose = []
            (flaw, framesBeforeFlaw) = (nil, 0)
            ended = false
            singles = 0
            hasStatus = false
        }
    }
}
