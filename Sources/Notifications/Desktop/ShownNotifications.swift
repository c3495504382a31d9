import Foundation
import Synchronization
package import TrackerCore

/// The last displayed notification of each kind, shared by all processes of the session through a file in
/// `XDG_RUNTIME_DIR`. A new one of a kind replaces the last one, and a repetition is not displayed again. If the file
/// cannot be used, or the server responds after the time limit, a notification can appear twice.
///
/// A notification number is valid for one `owner` only: the bus id and unique name of a server.
package final class ShownNotifications: Sendable {
    struct Notice: Hashable, Sendable, Codable {
        /// The server that shows the notification; `nil` if it was closed.
        var owner: String?
        var number: UInt32
        var announcement: Announcement
        /// The time of display in seconds since 1970 by the wall clock.
        var shownAt: Double

        var kind: NotificationKind { announcement.kind }
        var notificationId: String { announcement.id }
    }

    private struct Contents: Hashable, Sendable, Codable {
        var userID: String?
        /// The last notifications by the id of their kind.
        var notices: [String: Notice] = [:]
        enum CodingKeys: String, CodingKey { case userID = "day", notices }
    }

    /// The time in seconds for which an equal notification counts as a repetition.
    private static let repetition: Double = 12 * 3600
    private let file: RuntimeFile?
    private let userID: @Sendable () -> String?
    private let state = Mutex(Contents())

    /// - Parameters:
    ///   - file: `nil` keeps the content in memory only.
    ///   - userID: returns the user id of the store, or an empty text without a user; `nil` if unknown. A purge changes
    ///     it, and notifications of another user id are discarded.
    package init(file: String? = nil, userID: @escaping @Sendable () -> String? = { nil }) {
        (self.file, self.userID) = (file.map(RuntimeFile.init(path:)), userID)
    }

    private func now() -> Double { Date().timeIntervalSince1970 }

    /// Discards all notifications, after a purge.
    package func removeAll() { change { $0 = Contents(userID: $0.userID) } }

    func notice(_ id: String, owner: String) -> Notice? { notices()[id].flatMap { $0.owner == owner ? $0 : nil } }

    func notice(_ number: UInt32, owner: String) -> Notice? {
        notices().values.first { $0.number == number && $0.owner == owner }
    }

    /// Whether the notification was shown recently, even if it is closed now.
    package func wasRecentlyShown(_ announcement: Announcement) -> Bool {
        guard let notice = notices()[announcement.kind.id], notice.notificationId == announcement.id else {
            return false
        }
        return notice.announcement.title == announcement.title && notice.announcement.body == announcement.body
            && (now() - notice.shownAt).magnitude < Self.repetition
    }

    func remember(_ announcement: Announcement, number: UInt32, owner: String) {
        change {
            $0.notices[announcement.kind.id] = Notice(
                owner: owner, number: number, announcement: announcement, shownAt: now())
        }
    }

    func remove(_ number: UInt32, owner: String) {
        change { state in
            for (id, notice) in state.notices where notice.number == number && notice.owner == owner {
                state.notices[id]?.owner = nil
            }
        }
    }

    private func notices() -> [String: Notice] { change { $0.notices } }

    private func change<Result: Sendable>(_ body: (inout Contents) -> Result) -> Result {
        let userID = userID()
        return state.withLock { state in
            func changed() -> Result {
                let before = read() ?? state
                state = before
                if let userID, state.userID != userID {
                    // An unknown or empty user id counts as the same user.
                    let isSame = state.userID?.isEmpty ?? true
                    if !isSame { state = Contents() }
                    state.userID = userID
                }
                let result = body(&state)
                if state != before, let data = try? JSONEncoder().encode(state) { file?.write(data) }
                return result
            }
            return file.map { $0.locked(changed) } ?? changed()
        }
    }

    /// The content; `nil` without a valid file.
    private func read() -> Contents? { file?.read().flatMap { try? JSONDecoder().decode(Contents.self, from: $0) } }
}
