import ArgumentParser
import CommandSupport
import Store
import Synchronization
import TrackerCore
import TrackerService
import Utilities

/// Runs a closure after each write to a store, until the command is stopped or its output is closed.
struct StoreFollower: Sendable {
    let location: StoreLocation

    /// Runs the closure after each write and when its time has passed.
    /// - Parameter evaluate: returns the time until the next change without a write.
    func run(_ evaluate: @escaping @Sendable () -> Duration) async throws {
        guard let watch = StoreWatch(location.path) else {
            throw CommandFailure(
                .failed, "cannot watch \(location.path): no free inotify watches, or its directory does not exist",
                advice: "Raise fs.inotify.max_user_instances, or stop programs that watch files.")
        }
        let follower = DayObserver(writes: watch.writes, evaluate: evaluate)
        try await Self.runUntilStopped { await follower.run() }
    }

    /// Runs until the command is stopped or its output is closed.
    static func runUntilStopped(_ body: @escaping @Sendable () async -> Void) async throws {
        let signals = StopSignals.stream()
        let readers = TextOutput.standard.readerClosed()
        let work = Task { await body() }
        let status = await withTaskGroup(of: ExitStatus.self) { group in
            group.addTask {
                for await signal in signals { return StopSignals.status(for: signal) }; return .done
            }
            group.addTask {
                for await _ in readers {}; return .done
            }
            let first = await group.next() ?? .done
            group.cancelAll()
            return first
        }
        // Do not wait for a write: a reader of the pipe that has stopped can block it.
        work.cancel()
        if status != .done { throw ExitCode(status.rawValue) }
    }
}

/// Prints a line of output or a warning only if it differs from the last one.
final class ChangeLines: Sendable {
    private let last = Mutex<(line: String?, warning: String?)>((nil, nil))

    func line(_ text: String) {
        let isChanged = last.withLock { last in
            defer { last = (text, nil) }
            return last.line != text
        }
        guard isChanged else { return }
        TextOutput.standard.line(text)
        TextOutput.standard.flush()
    }

    /// Prints a warning about an error, with its advice.
    func warning(of error: any Error) {
        warning((error as? any Problem).map { "\(CommandFailure($0, advice: Advice.about($0.code)))" } ?? "\(error)")
    }

    /// Prints the warning as one line; `nil` after a success, so that the next warning is printed.
    func warning(_ text: String?) {
        let text = text.map { Escaping.replacing($0, ["\n": " "]) }
        let isChanged = last.withLock { last in
            defer { last.warning = text }
            return last.warning != text
        }
        if let text, isChanged, !Task.isCancelled { Diagnostics.warning(text) }
    }
}

/// Runs `status --follow`. Opens the store for each evaluation, because the file can be replaced. If the store cannot
/// be read, nothing is printed.
struct StatusFollower: Sendable {
    let options: StoreOptions
    let location: StoreLocation
    let line: @Sendable (_ state: String) throws -> String?

    func run() async throws {
        let lines = ChangeLines()
        try await StoreFollower(location: location).run {
            do {
                let state = try StoreOpener(options, location: location).context(for: .reading, at: Machine.now())
                    .stateAndDuration()
                guard let line = try line(TrackerAPI.json(state.snapshot)) else { return DayObserver.longestPause }
                lines.line(line)
                return state.validFor / Machine.speed
            } catch {
                lines.warning(of: error)
                return DayObserver.longestPause
            }
        }
    }
}

/// Runs `status --follow` if only the service can open the store: the service sends each change.
struct ServiceFollower: Sendable {
    let service: ServiceSocket
    let line: @Sendable (_ state: String) throws -> String?

    /// Prints a line for each state event until the reader closes the output. Reconnects after a restart of the
    /// service.
    func run() async throws {
        try await StoreFollower.runUntilStopped {
            let lines = ChangeLines()
            var backoff = Backoff(first: .seconds(1), longest: .seconds(30))
            while !Task.isCancelled {
                do {
                    // A status bar does not count as a viewer, so the service keeps no connection to the bottle.
                    for try await event in service.events("/api/v1/events?looks=no") where event.name == "state" {
                        backoff.reset()
                        if let line = try line(event.data) { lines.line(line) }
                    }
                } catch {
                    let sentence = (error as? CommandFailure)?.sentence ?? "The service at \(service.path): \(error)"
                    lines.warning("\(sentence) It is retried automatically.")
                }
                try? await Task.sleep(for: backoff.next(jitter: 1))
            }
        }
    }
}

/// Runs `export` as a stream: prints the lines after a position, and with `--follow` new lines. The store is closed
/// between evaluations.
struct DrinkStream: Sendable {
    /// The maximum bytes of whole lines per write: `PIPE_BUF`, so that a write to a pipe is atomic.
    private static let writeLimit = 4096
    private static let batch = 500

    let options: StoreOptions
    let location: StoreLocation
    let format: DrinkLineFormat

    private struct Reader {
        var position: Int64
        /// The position up to which all changes were written.
        var known: Int64
        var isAtBeginning: Bool
        /// The identity of the file to which the position belongs.
        var file: FileIdentity?
        /// The pending writes up to `position`. The first can be partly written.
        var pendingWrites: [[UInt8]] = []

        mutating func writePending(_ out: OutputFile) throws {
            while !pendingWrites.isEmpty {
                try out.drain(&pendingWrites[0])
                pendingWrites.removeFirst()
            }
        }
    }

    /// Prints the changes after a position, and new ones until the command is stopped if `isFollowing` is set.
    /// - Parameter position: the last known change; `nil` for none.
    func run(after position: Int64?, isFollowing: Bool) async throws {
        let reader = Mutex(Reader(position: position ?? 0, known: position ?? 0, isAtBeginning: position == nil))
        guard isFollowing else { return try reader.withLock { try report(&$0) } }
        let lines = ChangeLines()
        try await StoreFollower(location: location).run { evaluate(reader, lines) }
    }

    private func evaluate(_ reader: borrowing Mutex<Reader>, _ lines: ChangeLines) -> Duration {
        reader.withLock { reader in
            do {
                try report(&reader)
                lines.warning(nil)
            } catch is OutputFile.ReaderClosed {
                // The output was closed. Another task ends the command.
            } catch {
                lines.warning(of: error)
                return DayObserver.longestPause
            }
            // Drinks do not change by time.
            return .seconds(3600)
        }
    }

    private func report(_ reader: inout Reader) throws {
        // Read the identity before opening. If the file is replaced in between, the next evaluation detects that.
        let file = FileIdentity(location.path)
        let store = try StoreOpener(options, location: location).context(for: .reading).store
        let out = try OutputFile("-")
        if reader.isAtBeginning {
            reader.pendingWrites.append(Array(format.header.utf8))
            reader.isAtBeginning = false
        }
        try reader.writePending(out)
        // The store is missing and might reappear.
        if store.fileState == .nothing, reader.position > 0 { return }
        let last = try store.lastDrinkPosition()
        let isOtherFile = reader.file != nil && file != nil && reader.file != file
        if try reader.position > 0 && (isOtherFile || !store.isDrinkPosition(reader.position)) {
            Diagnostics.warning("The store was replaced, purged or restored. Sending all drinks again.")
            (reader.position, reader.known) = (0, 0)
        }
        if file != nil { reader.file = file }
        while reader.position < last {
            let found = try store.drinkLines(
                after: reader.position, known: reader.known, through: last, limit: Self.batch)
            var bytes: [UInt8] = []
            for line in found.lines {
                let count = bytes.count
                format.append(line, to: &bytes)
                guard bytes.count > Self.writeLimit, count > 0 else { continue }
                reader.pendingWrites.append(Array(bytes[..<count]))
                bytes.removeFirst(count)
            }
            reader.pendingWrites.append(bytes)
            reader.position = found.position
            try reader.writePending(out)
        }
        reader.known = last
    }
}
