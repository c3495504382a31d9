import TrackerCore

/// What was shown to somebody, newest first.
package struct ShownReport: Hashable, Sendable, Encodable {
    /// One notification that somebody saw.
    package struct Line: Hashable, Sendable, Encodable {
        /// The decision's id.
        package var id: String
        /// The id of its kind: what takes the place of what.
        package var kind: String
        /// When somebody saw it.
        package var sentAt: Instant
        /// Where it was seen: `desktop`, `output`, `mqtt` …
        package var sinks: [String]
        /// Where it was not seen, because nobody was there and it was not worth showing afterwards; and why
        /// (`replaced`, `answered`, `over` …).
        package var missed: [String: String]

        enum CodingKeys: String, CodingKey { case id, kind, sentAt, sinks, missed }

        package func encode(to encoder: any Encoder) throws {
            var keys = encoder.container(keyedBy: CodingKeys.self)
            try keys.encode(id, forKey: .id)
            try keys.encode(kind, forKey: .kind)
            try keys.encode(sentAt.wholeSeconds, forKey: .sentAt)
            try keys.encode(sinks, forKey: .sinks)
            try keys.encode(missed, forKey: .missed)
        }
    }

    /// Newest first.
    package var notifications: [Line]
}
