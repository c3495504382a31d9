import CommandKit
import CommandStore
import Foundation

/// Whom a service of one configuration has served, in a file of its state: who is taken off the list while no service runs is let go in order all the same.
struct ServedPeople: Sendable {
    struct One: Codable, Hashable {
        var name: String
        var store: String
        var link: String?
    }

    private static let limitBytes = 1 << 16
    let file: String

    /// - Parameter configuration: the file that lists them.
    init(of configuration: String) {
        let path = URL(fileURLWithPath: configuration).standardizedFileURL.resolvingSymlinksInPath().path
        // FNV-1a: tells configurations apart, no more.
        let hash = path.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        file = Paths.state + "/people-\(String(hash, radix: 36)).json"
    }

    /// Empty where nobody was, or the file is not ours.
    func read() -> [One] {
        guard let handle = FileHandle(forReadingAtPath: file), let data = try? handle.read(upToCount: Self.limitBytes) else { return [] }
        return (try? JSONDecoder().decode([One].self, from: data)) ?? []
    }

    /// These, from now on. Nothing is written where it says so already.
    func note(_ people: [One]) throws {
        guard people != read() else { return }
        try Paths.makeParent(of: file)
        try JSONEncoder().encode(people).write(to: URL(fileURLWithPath: file), options: .atomic)
        _ = chmod(file, 0o600)
    }
}
