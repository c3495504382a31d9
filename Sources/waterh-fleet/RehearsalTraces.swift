import CommandKit
import FleetStore
import Foundation
import Synchronization

/// What a rehearsal of a restore makes and takes away again, however it ends: a folder, a database, a program beside
/// it.
final class RehearsalTraces: Sendable {
    private struct State {
        var folder: (path: String, lock: Int32)?
        var database: String?
        var program: Int32?
        var isOver = false
    }

    private let words: String
    private let state = Mutex(State())

    /// - Parameter words: that name the original.
    init(words: String) { self.words = words }

    private static let prefix = "waterh-fleet-restore-"

    /// Makes one for its owner alone, which nobody takes for one that was left behind as long as this process lives.
    func makeFolder(in parent: String, _ mark: String) throws -> String {
        try make { state in
            let path = "\(parent)/\(Self.prefix)\(mark)"
            do {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            } catch {
                throw CommandFailure(
                    .failed, "\(path) cannot be made: \(error.localizedDescription)",
                    advice: "Name another folder with --folder.")
            }
            guard let lock = Self.lock(path) else {
                throw CommandFailure(.failed, "\(path) was taken away by another program.", advice: "Run it again.")
            }
            state.folder = (path, lock)
            return path
        }
    }

    /// - Returns: its name.
    func makeDatabase(_ store: FleetStore, _ mark: String) throws -> String {
        try make { state in
            let name = try store.makeScratchDatabase(mark)
            state.database = name
            return name
        }
    }

    /// Starts a program that ends with the rehearsal.
    func start(_ process: Process) throws {
        try make { state in
            try process.runHearingSignals()
            state.program = process.processIdentifier
        }
    }

    /// The program that was started last is no more.
    func programEnded() { state.withLock { $0.program = nil } }

    /// Nothing is made any more when it is over; and it is not over in the middle of making something.
    private func make<Result>(_ body: (inout State) throws -> Result) throws -> Result {
        try state.withLock { state in
            guard !state.isOver else { throw CancellationError() }
            return try body(&state)
        }
    }

    /// - Parameter forGood: nothing is made after this.
    func takeAway(forGood: Bool = false) throws {
        try state.withLock { state in
            guard !state.isOver else { return }
            state.isOver = forGood
            if forGood, let program = state.program { kill(program, SIGTERM) }
            state.program = nil
            if let folder = state.folder {
                try? FileManager.default.removeItem(atPath: folder.path)
                close(folder.lock)
                state.folder = nil
            }
            guard let name = state.database else { return }
            var options = DatabaseOptions()
            options.database = words
            try options.use(checked: false, limit: .seconds(600)) { try $0.dropScratchDatabase(name) }
            state.database = nil
        }
    }

    /// Takes away what others left behind that were killed.
    /// - Returns: what it was, in words.
    func sweep(_ parent: String) -> [String] {
        let parent = parent.hasSuffix("/") ? String(parent.dropLast()) : parent
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []).filter {
            $0.hasPrefix(Self.prefix)
        }.sorted()
        return names.compactMap { name in
            let path = "\(parent)/\(name)"
            guard let lock = Self.lock(path) else { return nil }
            defer { close(lock) }
            guard (try? FileManager.default.removeItem(atPath: path)) != nil else {
                return "\(path) was left behind by a rehearsal and cannot be removed: it holds a whole backup."
            }
            return "\(path), which a rehearsal left behind, is taken away."
        }
    }

    /// A folder of this user's that nobody else holds; `nil` where it is none.
    private static func lock(_ path: String) -> Int32? {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        var (own, there) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, own.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            stat(path, &there) == 0, there.st_ino == own.st_ino
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
