import Foundation
import Synchronization
import TrackerCore

/// What was shown last, by the catalogue's id: the number that the server gave it, so that the next of its kind takes
/// its place, and what it was, so that nothing is shown twice. And what is being shown right now, by whom, so that no
/// other shows it, too, while a slow server thinks.
///
/// A number means something to one server only (`owner`: bus and unique name). In a file of the session's runtime
/// folder all our programs of the session share it, and a program that was started anew goes on where the last one was.
/// A file that cannot be read or written costs no more than a banner beside another.
package final class NoticeMemory: Sendable {
    struct Notice: Hashable, Sendable, Codable {
        /// Of whom the number is; `nil` once it is not shown any more.
        var owner: String?
        var number: UInt32
        var announcement: Announcement
        /// By the machine's clock, seconds since 1970.
        var shownAt: Double
        /// It went with its server, and nobody had closed it.
        var isLost = false

        var kind: NotificationKind { announcement.kind }
        var notificationId: String { announcement.id }
    }

    /// A presentation that the server has not answered yet.
    private struct Showing: Hashable, Sendable, Codable {
        var owner: String
        /// Unique name of the program's connection.
        var by: String
        var words: String
        var since: Double
    }

    private struct Contents: Hashable, Sendable, Codable {
        /// Whose they are, where that is known (`day`).
        var day: String?
        /// By the catalogue's id.
        var notices: [String: Notice] = [:]
        /// By the notification's own id.
        var showings: [String: Showing] = [:]
    }

    /// For so long the same notification with the same words is taken for the same one: who showed it may have died
    /// before it could say so, and it is asked for again when the next one comes. A day's reminder is not told twice.
    private static let repetition: Double = 12 * 3600
    private let file: SessionFile?
    private let day: @Sendable () -> String?
    private let now: @Sendable () -> Double
    private let held = Mutex(Contents())

    /// - Parameters:
    ///   - file: `nil`: for this program alone.
    ///   - day: what the store calls its owner, which a purge gives another name; empty as long as there is none, `nil`
    ///     where that is not known. What another's day was
    ///     shown is none of this one's.
    package convenience init(file: String? = nil, day: @escaping @Sendable () -> String? = { nil }) {
        self.init(file: file, day: day, now: { Date().timeIntervalSince1970 })
    }

    init(file: String?, day: @escaping @Sendable () -> String? = { nil }, now: @escaping @Sendable () -> Double) {
        (self.file, self.day, self.now) = (file.map(SessionFile.init(path:)), day, now)
    }

    /// Everything was deleted: no word of it stays.
    package func forgetAll() { change { $0 = Contents(day: $0.day) } }

    /// What is shown under that id by that server.
    func notice(_ id: String, owner: String) -> Notice? { all().notices[id].flatMap { $0.owner == owner ? $0 : nil } }

    /// What that server shows under that number.
    func notice(_ number: UInt32, owner: String) -> Notice? {
        all().notices.values.first { $0.number == number && $0.owner == owner }
    }

    /// Everything that server shows.
    func notices(owner: String) -> [Notice] { all().notices.values.filter { $0.owner == owner } }

    /// Whether a person was shown this a moment ago; it may be closed by now. What went with its server has to be shown
    /// again.
    package func hasJustShown(_ announcement: Announcement) -> Bool { hasJustShown(announcement, all()) }

    private func hasJustShown(_ announcement: Announcement, _ held: Contents) -> Bool {
        guard let notice = held.notices[announcement.kind.id], notice.notificationId == announcement.id, !notice.isLost
        else { return false }
        return Self.words(notice.announcement) == Self.words(announcement)
            && (now() - notice.shownAt).magnitude < Self.repetition
    }

    func remember(_ announcement: Announcement, number: UInt32, owner: String) {
        change {
            $0.notices[announcement.kind.id] = Notice(
                owner: owner, number: number, announcement: announcement, shownAt: now())
            $0.showings[announcement.id] = nil
        }
    }

    /// It is not shown any more.
    func forget(_ number: UInt32, owner: String) {
        change { held in
            for (id, notice) in held.notices where notice.number == number && notice.owner == owner {
                held.notices[id]?.owner = nil
            }
        }
    }

    /// It is over: where the server that showed it has gone, it does not come again. What is shown stays known, to
    /// whoever can take it away.
    func end(_ id: String) { change { $0.notices[id]?.isLost = false } }

    /// That server is there now: the numbers of every other mean nothing any more, and what was to stay until it is
    /// over is lost.
    func keepOnly(owner: String) { lose { $0 != owner } }

    /// That server has gone. Another may be there already, and one of our programs on it: what it shows is not lost.
    func lose(owner: String) { lose { $0 == owner } }

    private func lose(_ isGone: (String) -> Bool) {
        change { held in
            for (id, notice) in held.notices where notice.owner.map(isGone) ?? false {
                held.notices[id]?.owner = nil
                held.notices[id]?.isLost = notice.kind.isResident
            }
        }
    }

    /// What went with its server and is to be there until it is over.
    var lost: [Announcement] { all().notices.values.filter(\.isLost).map(\.announcement) }

    // MARK: - Who is at it

    /// Which program is showing this right now on that server, as far as anybody wrote down.
    /// - Parameter seconds: so long a server may think.
    func shower(of announcement: Announcement, owner: String, within seconds: Double) -> String? {
        shower(of: announcement, owner, seconds, all())
    }

    /// From here on this program shows it, and no other.
    /// - Parameter gone: who had begun, and is not there any more.
    /// - Returns: `false` where another has begun meanwhile, or has come to its end, or this program is at it already.
    func begin(
        _ announcement: Announcement, by program: String, owner: String, within seconds: Double, insteadOf gone: String?
    ) -> Bool {
        change { held in
            guard !hasJustShown(announcement, held) else { return false }
            if let other = shower(of: announcement, owner, seconds, held), other != gone { return false }
            held.showings = held.showings.filter { (now() - $0.value.since).magnitude < seconds }
            held.showings[announcement.id] = Showing(
                owner: owner, by: program, words: Self.words(announcement), since: now())
            return true
        }
    }

    /// The server has not shown it.
    func giveUp(_ announcement: Announcement, by program: String) {
        change { held in if held.showings[announcement.id]?.by == program { held.showings[announcement.id] = nil } }
    }

    private func shower(of announcement: Announcement, _ owner: String, _ seconds: Double, _ held: Contents) -> String?
    {
        guard let showing = held.showings[announcement.id], showing.owner == owner,
            showing.words == Self.words(announcement)
        else { return nil }
        return (now() - showing.since).magnitude < seconds ? showing.by : nil
    }

    // MARK: - Parts

    private static func words(_ announcement: Announcement) -> String { announcement.title + "\n" + announcement.body }

    private func all() -> Contents {
        let day = day()
        let known = held.withLock { held in read() ?? held }
        guard let day, let noted = known.day, !noted.isEmpty, noted != day else { return known }
        // The file, too: it is what the session's other programs go by.
        change { _ in }
        return Contents(day: day)
    }

    private func change<Result: Sendable>(_ body: (inout Contents) -> Result) -> Result {
        let day = day()
        return held.withLock { held in
            func changed() -> Result {
                let before = read() ?? held
                held = before
                if let day, held.day != day {
                    // Whose it was not known to be, or who had no name yet, is the same one still.
                    let isSame = held.day?.isEmpty ?? true
                    held =
                        isSame ? Contents(day: day, notices: held.notices, showings: held.showings) : Contents(day: day)
                }
                let result = body(&held)
                if held != before, let data = try? JSONEncoder().encode(held) { file?.write(data) }
                return result
            }
            return file.map { $0.locked(changed) } ?? changed()
        }
    }

    /// `nil` where there is no file, or one that is not ours.
    private func read() -> Contents? { file?.read().flatMap { try? JSONDecoder().decode(Contents.self, from: $0) } }
}
