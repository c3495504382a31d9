import Foundation
import Synchronization
import TrackerCore

/// What is shown right now, by the catalogue's id: the number that the server gave it, so that the next of its kind takes its place.
///
/// A number means something to one server only (`owner`: bus and unique name). In a file of the session's runtime folder all our programs of the
/// session share it, and a program that was started anew goes on where the last one was. A file that cannot be read or written costs no
/// more than a banner beside another.
public final class NoticeMemory: Sendable {
    struct Notice: Hashable, Sendable, Codable {
        var owner: String
        var number: UInt32
        var kind: NotificationKind
        var notificationId: String
    }

    private static let limit = 1 << 16
    private let file: String?
    private let held = Mutex<[String: Notice]>([:])

    /// - Parameter file: `nil`: for this program alone.
    public init(file: String? = nil) { self.file = file }

    /// What is shown under that id by that server.
    func notice(_ id: String, owner: String) -> Notice? { all().first { $0.key == id && $0.value.owner == owner }?.value }

    /// What that server shows under that number.
    func notice(_ number: UInt32, owner: String) -> Notice? { all().values.first { $0.number == number && $0.owner == owner } }

    func remember(_ notice: Notice) { change { $0[notice.kind.id] = notice } }

    func forget(_ number: UInt32, owner: String) { change { $0 = $0.filter { $0.value.number != number || $0.value.owner != owner } } }

    /// Another server, or none: the numbers of the last one mean nothing any more.
    func keepOnly(owner: String?) { change { $0 = $0.filter { $0.value.owner == owner } } }

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
