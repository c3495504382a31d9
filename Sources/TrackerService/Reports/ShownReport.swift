import TrackerCore

/// What was shown to somebody, newest first.
public struct ShownReport: Hashable, Sendable, Encodable {
    /// One notification that somebody saw.
    public struct Line: Hashable, Sendable, Encodable {
        /// The decision's id.
        public var id: String
        /// The id of its kind: what takes the place of what.
        public var kind: String
        /// When somebody saw it.
        public var sentAt: Instant
        /// Where it was seen: `desktop`, `output`, `mqtt` …
        public var sinks: [String]
        /// Where it was not seen, because nobody was there and it was not worth showing afterwards; and why
        /// (`replaced`, `answered`, `over` …).
        public var missed: [String: String]

        enum CodingKeys: String, CodingKey { case id, kind, sentAt, sinks, missed }

        public func encode(to encoder: any Encoder) throws {
            var keys = encoder.container(keyedBy: CodingKeys.self)
            try keys.encode(id, forKey: .id)
            try keys.encode(kind, forKey: .kind)
            try keys.encode(sentAt.wholeSeconds, forKey: .sentAt)
            try keys.encode(sinks, forKey: .sinks)
            try keys.encode(missed, forKey: .missed)
        }
    }

    /// Newest first.
    public var notifications: [Line]
}
