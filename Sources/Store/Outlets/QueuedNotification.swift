import Foundation
import GRDB
import TrackerCore

/// A notification on its way to a phone, or there.
package struct QueuedNotification: Hashable, Sendable {
    /// What has become of it.
    package enum State: String, Hashable, Sendable {
        case waiting, sent
        /// It was not of the moment any more.
        case dropped
        /// The other end will never take it.
        case refused
    }

    /// Its number in the queue.
    package var sequence: Int64
    /// What is to be shown.
    package var announcement: Announcement
    /// When it was decided.
    package var since: Instant
    /// With which its buttons act, and nothing else.
    package var key: String

    package init(sequence: Int64, announcement: Announcement, since: Instant, key: String) {
        (self.sequence, self.announcement, self.since, self.key) = (sequence, announcement, since, key)
    }
}

extension QueuedNotification {
    init(row: Row) throws {
        let text: String = try row.checked("announcement")
        self.init(
            sequence: try row.checked("seq"),
            announcement: try JSONDecoder().decode(Announcement.self, from: Data(text.utf8)),
            since: try row.instant("since"), key: try row.checked("key"))
    }
}
