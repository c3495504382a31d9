import Foundation
import Synchronization
import TrackerCore

/// The notifications that the processes of the session have shown last, by kind. A new one of a kind replaces the last
/// one, and a repetition is not shown twice.
///
/// A notification id is valid for one `owner` only (bus id and unique name). The processes share a file in
/// `XDG_RUNTIME_DIR`. If that fails, a notification can appear twice.
package final class ShownNotifications: Sendable {
    struct Notice: Hashable, Sendable, Codable {
        /// The server that shows the notification; `nil` if it is no longer shown.
        var owner: String?
        var number: UInt32
        var announcement: Announcement
        /// The time of display in seconds since 1970 by the wall clock.
        var shownAt: Double
        /// Whether the server ended before the notification was closed.
        var isLost = false

        var kind: NotificationKind { announcement.kind }
        var notificationId: String { announcement.id }
    }

    private struct Contents: Hashable, Sendable, Codable {
        /// The user id of the store (`day`), if known.
        var day: String?
        /// The last notifications by the id of their kind.
        var notices: [String: Notice] = [:]
    }

    /// The seconds for which the same notification with the same text counts as a repetition.
    private static let repetition: Double = 12 * 3600
    private let file: SessionFile?
    private let day: @Sendable () -> String?
    private let held = Mutex(Contents())

    /// - Parameters:
    ///   - file: `nil` keeps the content in memory only.
    ///   - day: returns the user id of the store, or an empty text without a user; `nil` if unknown. A purge changes
    ///     it, and notifications of another user id are discarded.
    package init(file: String? = nil, day: @escaping @Sendable () -> String? = { nil }) {
        (self.file, self.day) = (file.map(SessionFile.init(path:)), day)
    }

    /// Discards all notifications, after a purge.
    package func removeAll() { change { $0 = Contents(day: $0.day) } }

    func notice(_ id: String, owner: String) -> Notice? { all().notices[id].flatMap { $0.owner == owner ? $0 : nil } }

    func notice(_ number: UInt32, owner: String) -> Notice? {
        all().notices.values.first { $0.number == number && $0.owner == owner }
    }

    /// Whether the notification was shown recently; it might be closed. `false` if its server has ended.
    package func hasJustShown(_ announcement: Announcement) -> Bool {
        guard let notice = all().notices[announcement.kind.id], notice.notificationId == announcement.id, !notice.isLost
        else { return false }
        return (notice.announcement.title, notice.announcement.body) == (announcement.title, announcement.body)
            && (Date().timeIntervalSince1970 - notice.shownAt).magnitude < Self.repetition
    }

    func remember(_ announcement: Announcement, number: UInt32, owner: String) {
        change {
            $0.notices[announcement.kind.id] = Notice(
                owner: owner, number: number, announcement: announcement, shownAt: Date().timeIntervalSince1970)
        }
    }

    func remove(_ number: UInt32, owner: String) {
        change { held in
            for (id, notice) in held.notices where notice.number == number && notice.owner == owner {
                held.notices[id]?.owner = nil
            }
        }
    }

    /// Marks a kind as over, so that it is not shown again after a restart of the server.
    func end(_ id: String) { change { $0.notices[id]?.isLost = false } }

    /// Discards the ids of all other servers. Their resident notifications become lost.
    func keepOnly(owner: String) { lose { $0 != owner } }

    /// Discards the ids of a server that has gone. Its resident notifications become lost.
    func lose(owner: String) { lose { $0 == owner } }

    private func lose(_ isGone: (String) -> Bool) {
        change { held in
            for (id, notice) in held.notices where notice.owner.map(isGone) ?? false {
                held.notices[id]?.owner = nil
                held.notices[id]?.isLost = notice.kind.isResident
            }
        }
    }

    /// Resident notifications to show again.
    var lost: [Announcement] { all().notices.values.filter(\.isLost).map(\.announcement) }

    // MARK: - Parts

    private func all() -> Contents {
        let day = day()
        let known = held.withLock { held in read() ?? held }
        guard let day, let noted = known.day, !noted.isEmpty, noted != day else { return known }
        // Also change the file, which the other processes read.
        change { _ in }
        return Contents(day: day)
    }

    private func change(_ body: (inout Contents) -> Void) {
        let day = day()
        held.withLock { held in
            func changed() {
                let before = read() ?? held
                held = before
                if let day, held.day != day {
                    // An unknown or empty user id counts as the same user.
                    let isSame = held.day?.isEmpty ?? true
                    held = Contents(day: day, notices: isSame ? held.notices : [:])
                }
                body(&held)
                if held != before, let data = try? JSONEncoder().encode(held) { file?.write(data) }
            }
            if let file { file.locked(changed) } else { changed() }
        }
    }

    /// The content; `nil` without a valid file.
    private func read() -> Contents? { file?.read().flatMap { try? JSONDecoder().decode(Contents.self, from: $0) } }
}
