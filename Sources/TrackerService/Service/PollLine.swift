import TrackerCore

/// One poll that is over.
package struct PollLine: Hashable, Sendable, Encodable {
    /// When it was over.
    package var at: Instant
    /// The bottle's identity; `nil` where none was found.
    package var bottle: String?
    /// `done`, or the failure's code.
    package var result: String
    /// What came of it, for a person.
    package var sentence: String
    /// Records that came, each once.
    package var received: Int
    /// Those that are new.
    package var new: Int
    /// Those that were known.
    package var duplicates: Int
    /// Those whose date is in doubt.
    package var suspect: Int
    /// Those that the bottle was told to forget.
    package var acknowledged: Int
    /// How long it took.
    package var seconds: Double

    package init(
        at: Instant, bottle: String?, result: String, sentence: String, received: Int, new: Int, duplicates: Int,
        suspect: Int,
        acknowledged: Int, seconds: Double
    ) {
        self.at = at
        self.bottle = bottle
        self.result = result
        self.sentence = sentence
        self.received = received
        self.new = new
        self.duplicates = duplicates
        self.suspect = suspect
        self.acknowledged = acknowledged
        self.seconds = seconds
    }

    private enum CodingKeys: String, CodingKey {
        case at, bottle, result, sentence, received, new, duplicates, suspect, acknowledged, seconds
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(at.wholeSeconds, forKey: .at)
        try container.encode(bottle, forKey: .bottle)
        try container.encode(result, forKey: .result)
        try container.encode(sentence, forKey: .sentence)
        try container.encode(received, forKey: .received)
        try container.encode(new, forKey: .new)
        try container.encode(duplicates, forKey: .duplicates)
        try container.encode(suspect, forKey: .suspect)
        try container.encode(acknowledged, forKey: .acknowledged)
        try container.encode(seconds, forKey: .seconds)
    }
}
