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
    }

    /// One dump of the log, as far as it came.
    struct Round: Hashable {
        /// Records of whole frames, in order of arrival.
        var frames: [[[UInt8]]] = []
        /// Records of frames that were never whole: kept, not acknowledged.
        var loose: [[UInt8]] = []
        /// Why this dump cannot be trusted to be whole.
        var flaw: String?
        /// The bottle said that this is all.
        var ended = false
        var notified = false
        /// Values were cut in the middle of entries: a lost or late piece puts all behind it out of step.
        var isPieced = false

        var sequence: [[UInt8]] { frames.flatMap { $0 } }
        var hasTwins: Bool { frames.contains { Set($0).count != $0.count } }
    }
}
