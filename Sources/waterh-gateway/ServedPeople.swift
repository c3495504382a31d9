import CommandKit
import CommandStore
import Foundation
import Store

/// Whom a service of one configuration has served, in a file of its state: who is taken off the list while no service
/// runs is let go in order all the same.
struct ServedPeople: Sendable {
    struct One: Codable, Hashable {
        var name: String
        var store: String
        var link: String?
    }

    /// What stands in the file.
    enum Found: Hashable {
        case people([One])
        /// It is no list: kept beside when a new one is written.
        case damaged
        /// No ordinary file: left alone. In words that go behind its name.
        case foreign(String)
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

    /// Where a damaged one is kept.
    var aside: String { file + ".damaged" }

    func look() -> Found {
        let data: Data
        do { data = try SmallFile.read(file, limit: Self.limitBytes + 1) } catch {
            return error.isAbsence ? .people([]) : .foreign(error.words)
        }
        guard data.count <= Self.limitBytes, let people = try? JSONDecoder().decode([One].self, from: data) else {
            return .damaged
        }
        return .people(people)
    }

    /// What to say of it where nobody can be read from it.
    func remark(on found: Found) -> String? {
        let consequence =
            "who was taken off the list while no service ran stays at brokers, and a bottle of theirs is anybody's."
        return switch found {
        case .people: nil
        case .damaged:
            "\(file), in which the service notes whom it serves, is damaged: \(consequence) It is kept as \(aside)."
        case .foreign(let words):
            "\(file), in which the service notes whom it serves, \(words): \(consequence) Move it away."
        }
    }

    /// These, from now on. Nothing is written where it says so already, or where something lies that is not ours.
    func note(_ people: [One]) throws {
        switch look() {
        case .people(people), .foreign: return
        case .people: break
        case .damaged: guard rename(file, aside) == 0 else { throw failure("cannot be moved to \(aside)") }
        }
        do { try Paths.makeParent(of: file) } catch { throw failure("its folder cannot be made") }
        let draft = file + ".new"
        // Whatever was left there, also by somebody else, is not written through.
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be written") }
        let bytes = try JSONEncoder().encode(people)
        let isWritten =
            bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) == $0.count } && fsync(descriptor) == 0
        let trouble = errno
        close(descriptor)
        errno = trouble
        guard isWritten, rename(draft, file) == 0 else {
            defer { unlink(draft) }
            throw failure("cannot be written")
        }
    }

    private func failure(_ words: String) -> CommandFailure {
        CommandFailure(.failed, "\(file) \(words): \(String(cString: strerror(errno)))")
    }
}
