import GRDB
import TrackerCore

extension TrackerStore {
    /// Notifications that were accepted, newest first.
    package func notifications(limit: Int = 50) throws -> [SentNotification] {
        try read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM notification ORDER BY sentAt DESC, id DESC LIMIT ?", arguments: [limit]
            ).readable(SentNotification.init(row:))
        }
    }

    /// Somebody looks: what was told so far is read (`unread` in the state).
    package func openNotifications(_ context: WriteContext) throws {
        try write { db in
            try Counter.set(NotificationTable.opened, Int(context.now.milliseconds), db)
            try Counter.set(NotificationTable.openedThrough, Int(try NotificationTable.newestPlace(db)), db)
        }
    }
}

/// A notification that at least one sink accepted.
package struct SentNotification: Hashable, Sendable {
    /// The decision's id.
    package var id: String
    /// Which kind it was.
    package var kind: String
    /// When a sink accepted it.
    package var sentAt: Instant
    /// Names of those that did, also later than the first.
    package var sinks: [String]
    /// Who was away and is not shown it any more, and why.
    package var missed: [String: String] = [:]
}

extension SentNotification {
    init(row: Row) throws {
        self.init(
            id: try row.checked("id"), kind: try row.checked("kind"), sentAt: try row.instant("sentAt"),
            sinks: try row.checked("sinks", String.self).split(separator: ",").map(String.init),
            missed: Dictionary(
                (try row.checked("missed", String?.self) ?? "").split(separator: ",").compactMap { word in
                    let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                    return parts.count == 2 ? (parts[0], parts[1]) : nil
                }, uniquingKeysWith: { $1 }))
    }
}
