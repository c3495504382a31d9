import Foundation
import Synchronization
import TrackerCore

/// What was shown last, by the catalogue's id: the number that the server gave it, so that the next of its kind takes its place, and what it was, so that
/// nothing is shown twice.
///
/// A number means something to one server only (`owner`: bus and unique name). In a file of the session's runtime folder all our programs of the
/// session share it, and a program that was started anew goes on where the last one was. A file that cannot be read or written costs no
/// more than a banner beside another.
public final class NoticeMemory: Sendable {
    struct Notice: Hashable, Sendable, Codable {
        /// Of whom the number is; `nil` once it is not shown any more.
        var owner: String?
        var number: UInt32
        var kind: NotificationKind
        var notificationId: String
        var words: String
        /// By the machine's clock, seconds since 1970.
        var shownAt: Double
    }

    /// For so long the same notification with the same words is taken for the same one: longer than any claim to it holds.
    private static let repetition: Double = 600
    private static let limit = 1 << 16
    private let file: String?
    private let now: @Sendable () -> Double
    private let held = Mutex<[String: Notice]>([:])

    /// - Parameter file: `nil`: for this program alone.
    public convenience init(file: String? = nil) { self.init(file: file, now: { Date().timeIntervalSince1970 }) }

    init(file: String?, now: @escaping @Sendable () -> Double) { (self.file, self.now) = (file, now) }

    /// What is shown under that id by that server.
    func notice(_ id: String, owner: String) -> Notice? { all()[id].flatMap { $0.owner == owner ? $0 : nil } }

    /// What that server shows under that number.
    func notice(_ number: UInt32, owner: String) -> Notice? { all().values.first { $0.number == number && $0.owner == owner } }

    /// Everything that server shows.
    func notices(owner: String) -> [Notice] { all().values.filter { $0.owner == owner } }

    /// Whether a person was shown this a moment ago; it may be closed by now.
    func hasJustShown(_ announcement: Announcement) -> Bool {
        guard let notice = all()[announcement.kind.id], notice.notificationId == announcement.id, notice.words == Self.words(announcement) else { return false }
        return (now() - notice.shownAt).magnitude < Self.repetition
    }

    func remember(_ announcement: Announcement, number: UInt32, owner: String) {
        let notice = Notice(
            owner: owner, number: number, kind: announcement.kind, notificationId: announcement.id, words: Self.words(announcement), shownAt: now())
        change { $0[announcement.kind.id] = notice }
    }

    /// It is not shown any more.
    func forget(_ number: UInt32, owner: String) {
        change { held in
            for (id, notice) in held where notice.number == number && notice.owner == owner { held[id]?.owner = nil }
        }
    }

    /// Another server, or none: the numbers of the last one mean nothing any more.
    func keepOnly(owner: String?) {
        change { held in
            for (id, notice) in held where notice.owner != owner { held[id]?.owner = nil }
        }
    }

    private static func words(_ announcement: Announcement) -> String { announcement.title + "\n" + announcement.body }

    private func all() -> [String: Notice] { held.withLock { held in read() ?? held } }

    private func change(_ body: (inout [String: Notice]) -> Void) {
        held.withLock { held in
            let before = read() ?? held
            held = before
            body(&held)
            guard let file, held != before, let data = try? JSONEncoder().encode(held) else { return }
            try? data.write(to: URL(fileURLWithPath: file), options: .atomic)
        }
    }

    /// `nil` where there is no file, or one that is not ours.
    private func read() -> [String: Notice]? {
        guard let file, let handle = try? FileHandle(forReadingFrom: URL(fileURLWithPath: file)) else { return nil }
        defer { try? handle.close() }
        return (try? handle.read(upToCount: Self.limit)).flatMap { $0 }.flatMap { try? JSONDecoder().decode([String: Notice].self, from: $0) }
    }
}
