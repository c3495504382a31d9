import Foundation
import Store
import TrackerCore

/// A poll that went wrong, as who looks after the bottle is told of it.
package struct KeptPollReport: Hashable, Sendable, Encodable {
    /// By which its capture is asked for.
    package var id: String
    /// When it was kept, seconds since 1970; `nil` where nobody knows.
    package var at: Int64?
    /// Why it is kept, a sentence.
    package var reason: String
    /// What happened beside, a line each.
    package var story: [String]
    /// The capture's size in bytes.
    package var bytes: Int

    init(_ poll: KeptPoll) {
        (id, at, bytes) = (poll.id, poll.at?.wholeSeconds, poll.bytes)
        (reason, story) = (poll.story.first ?? "Nothing was written down of it.", Array(poll.story.dropFirst()))
    }

    private enum CodingKeys: String, CodingKey { case id, at, reason, story, bytes }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(at, forKey: .at)
        try container.encode(reason, forKey: .reason)
        try container.encode(story, forKey: .story)
        try container.encode(bytes, forKey: .bytes)
    }
}
