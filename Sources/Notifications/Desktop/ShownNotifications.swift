import Foundation
import Synchronization
package import TrackerCore

/// The last displayed notification of each kind, shared by all processes of the session through a file in
/// `XDG_RUNTIME_DIR`. A new one of a kind replaces the last one, and a repetition is not displayed again. If the file
/// cannot be used, a notification can appear twice.
///
/// A notification number is valid for one `owner` only: the bus id and unique name of a server.
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

    /// A pending call of `Notify`.
    private struct Showing: Hashable, Sendable, Codable {
        var owner: String
        /// The unique bus name of the process.
        var by: String
        var words: String
        var since: Double
    }

    private struct Contents: Hashable, Sendable, Codable {
        /// The user id of the store (`day`), if known.
        var day: String?
        /// The last notifications by the id of their kind.
        var notices: [String: Notice] = [:]
        /// The pending calls by the notification id.
        var showings: [String: Showing] = [:]
    }

    /// The time in seconds for which an equal notification counts as a repetition.
    private static let repetition: Double = 12 * 3600
    private let file: SessionFile?
    private let day: @Sendable () -> String?
    private let state = Mutex(Contents())

    /// - Parameters:
    ///   - file: `nil` keeps the content in memory only.
    ///   - day: returns the user id of the store, or an empty text without a user; `nil` if unknown. A purge changes
    ///     it, and notifications of another user id are discarded.
    package init(file: String? = nil, day: @escaping @Sendable () -> String? = { nil }) {
        (self.file, self.day) = (file.map(SessionFile.init(path:)), day)
    }

    private func now() -> Double { Date().timeIntervalSince1970 }

    /// Discards all notifications, after a purge.
    package func removeAll() { change { $0 = Contents(day: $0.day) } }

    func notice(_ id: String, owner: String) -> Notice? { all().notices[id].flatMap { $0.owner == owner ? $0 : nil } }

    func notice(_ number: UInt32, owner: String) -> Notice? {
        all().notices.values.first { $0.number == number && $0.owner == owner }
    }

    /// Whether the notification was shown recently, even if it is closed now. `false` if its server has ended.
    package func hasJustShown(_ announcement: Announcement) -> Bool { hasJustShown(announcement, all()) }

    private func hasJustShown(_ announcement: Announcement, _ state: Contents) -> Bool {
        guard let notice = state.notices[announcement.kind.id], notice.notificationId == announcement.id, !notice.isLost
        else { return false }
        return Self.text(notice.announcement) == Self.text(announcement)
            && (now() - notice.shownAt).magnitude < Self.repetition
    }

    func remember(_ announcement: Announcement, number: UInt32, owner: String) {
        change {
            $0.notices[announcement.kind.id] = Notice(
                owner: owner, number: number, announcement: announcement, shownAt: now())
            $0.showings[announcement.id] = nil
        }
    }

    func remove(_ number: UInt32, owner: String) {
        change { state in
            for (id, notice) in state.notices where notice.number == number && notice.owner == owner {
                state.notices[id]?.owner = nil
            }
        }
    }

    /// Marks the notification with this kind's id as ended, so that a restarted server does not show it again.
    func end(_ id: String) { change { $0.notices[id]?.isLost = false } }

    /// Discards the notification numbers of all other servers. Their resident notifications become lost.
    func keepOnly(owner: String) { markLost { $0 != owner } }

    /// Discards the notification numbers of a server that has ended. Its resident notifications become lost.
    func markLost(owner: String) { markLost { $0 == owner } }

    private func markLost(_ isGone: (String) -> Bool) {
        change { state in
            for (id, notice) in state.notices where notice.owner.map(isGone) ?? false {
                state.notices[id]?.owner = nil
                state.notices[id]?.isLost = notice.kind.isResident
            }
        }
    }

    /// The resident notifications that a new server must show again.
    var lost: [Announcement] { all().notices.values.filter(\.isLost).map(\.announcement) }

    /// The unique bus name of the process that is waiting for a server to show the notification.
    /// - Parameter seconds: the time after which a pending call no longer counts.
    func processShowing(of announcement: Announcement, owner: String, within seconds: Double) -> String? {
        processShowing(of: announcement, owner, seconds, all())
    }

    /// Reserves the display of a notification for this process.
    /// - Parameter gone: the process that left the bus after its reservation.
    /// - Returns: `false` if another process has reserved or shown it, or if this process already has.
    func reserve(
        _ announcement: Announcement, by program: String, owner: String, within seconds: Double, insteadOf gone: String?
    ) -> Bool {
        change { state in
            guard !hasJustShown(announcement, state) else { return false }
            if let other = processShowing(of: announcement, owner, seconds, state), other != gone { return false }
            state.showings = state.showings.filter { (now() - $0.value.since).magnitude < seconds }
            state.showings[announcement.id] = Showing(
                owner: owner, by: program, words: Self.text(announcement), since: now())
            return true
        }
    }

    /// Releases a reservation after a failure.
    func release(_ announcement: Announcement, by program: String) {
        change { state in if state.showings[announcement.id]?.by == program { state.showings[announcement.id] = nil } }
    }

    private func processShowing(of announcement: Announcement, _ owner: String, _ seconds: Double, _ state: Contents)
        -> String?
    {
        guard let showing = state.showings[announcement.id], showing.owner == owner,
            showing.words == Self.text(announcement)
        else { return nil }
        return (now() - showing.since).magnitude < seconds ? showing.by : nil
    }

    private static func text(_ announcement: Announcement) -> String { announcement.title + "\n" + announcement.body }

    private func all() -> Contents {
        let day = day()
        let current = state.withLock { state in read() ?? state }
        guard let day, let storedDay = current.day, !storedDay.isEmpty, storedDay != day else { return current }
        // Also change the file, which the other processes read.
        change { _ in }
        return Contents(day: day)
    }

    private func change<Result: Sendable>(_ body: (inout Contents) -> Result) -> Result {
        let day = day()
        return state.withLock { state in
            func changed() -> Result {
                let before = read() ?? state
                state = before
                if let day, state.day != day {
                    // An unknown or empty user id counts as the same user.
                    let isSame = state.day?.isEmpty ?? true
                    if !isSame { state = Contents() }
                    state.day = day
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
