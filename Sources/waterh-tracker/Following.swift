import ArgumentParser
import CommandSupport
import Store
import Synchronization
import TrackerCore
import TrackerService
import Utilities

/// A command that goes on: looks at a store whenever somebody wrote to it, until it is stopped or nobody reads any
/// more.
struct StoreFollow: Sendable {
    let place: StorePlace

    /// - Parameter look: says how long nothing will change by itself.
    func run(_ look: @escaping @Sendable () -> Duration) async throws {
        guard let watch = StoreWatch(place.path) else {
            throw CommandFailure(
                .failed,
                "The kernel lets nobody watch \(place.path) any more: all its watches are taken, or it has no folder.",
                advice: "Raise fs.inotify.max_user_instances, or end programs that watch files.")
        }
        let follower = DayFollower(writes: watch.writes, look: look)
        try await Self.whileRead { await follower.run() }
    }

    /// Goes on until it is stopped, or nobody reads any more.
    static func whileRead(_ body: @escaping @Sendable () async -> Void) async throws {
        let signals = StopSignals.stream()
        let readers = TextOutput.standard.readerLeaves()
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
        // A reader that is there and does not read keeps a line waiting: nobody waits for that.
        work.cancel()
        if status != .done { throw ExitCode(status.rawValue) }
    }
}

/// Prints a line of output when it differs from the last one, and a warning likewise.
final class ChangeLines: Sendable {
    private let said = Mutex<(line: String?, trouble: String?)>((nil, nil))

    func line(_ text: String) {
        let isNews = said.withLock { said in
            defer { said = (text, nil) }
            return said.line != text
        }
        guard isNews else { return }
        TextOutput.standard.line(text)
        TextOutput.standard.flush()
    }

    func trouble(_ text: String) {
        let isNews = said.withLock { said in
            defer { said.trouble = text }
            return said.trouble != text
        }
        if isNews, !Task.isCancelled { Diagnostics.warning(text) }
    }
}

/// `status --follow`. It opens the store for each look and closes it again, because the file might be replaced. A store
/// that cannot be read leaves the last line as it is.
struct StatusFollow: Sendable {
    let options: StoreOptions
    let place: StorePlace
    let clock: DeskClock
    let line: @Sendable (_ state: String) throws -> String?

    /// Runs until it is stopped, or standard output is closed.
    func run() async throws {
        let lines = ChangeLines()
        try await StoreFollow(place: place).run {
            do {
                let standing = try DeskOpening(options, place: place).desk(for: .looking, at: clock.now()).standing()
                guard let line = try line(TrackerDesk.json(standing.snapshot)) else { return DayFollower.longestPause }
                lines.line(line)
                return clock.real(standing.lasts)
            } catch {
                lines.trouble("\(Failures.explained(error))")
                return DayFollower.longestPause
            }
        }
    }
}

/// `status --follow` where only the service may read the store: the service sends each change.
struct ServiceFollow: Sendable {
    let service: ServiceSocket
    let line: @Sendable (_ state: String) throws -> String?

    /// Runs until it is stopped, or standard output is closed. It reconnects after the service restarts.
    func run() async throws {
        try await StoreFollow.whileRead {
            let lines = ChangeLines()
            var backoff = Backoff(first: .seconds(1), longest: .seconds(30))
            while !Task.isCancelled {
                do {
                    // A bar that shows the day does not look at it: no connection is held for it.
                    for try await event in service.events("/api/v1/events?looks=no") where event.name == "state" {
                        backoff.reset()
                        if let line = try line(event.data) { lines.line(line) }
                    }
                } catch {
                    let sentence = (error as? CommandFailure)?.sentence ?? "The service at \(service.path): \(error)"
                    lines.trouble("\(sentence) It is tried again.")
                }
                try? await Task.sleep(for: backoff.next(chance: 1))
            }
        }
    }
}

/// `export` as a stream of lines: what there is behind a position, and with `--follow` what comes. Between two looks
/// nothing is open and nothing is kept: a reader that does not read costs one line that waits.
struct DrinkStream: Sendable {
    /// So many bytes of whole lines go out in one piece: no more, so that a pipe takes them whole or not at all.
    private static let piece = 4096
    private static let batch = 500

    let options: StoreOptions
    let place: StorePlace
    let format: DrinkLines.Format

    /// How far the reader is.
    private struct Reader {
        var format: DrinkLines
        var position: Int64
        /// All that it was told, as of the last time that it had everything.
        var known: Int64
        var isAtBeginning: Bool
        /// Of which file it was told.
        var file: FileIdentity?
        var trouble: String?
        /// Pieces of whole lines up to `position` that are still to be written; of the first a part may be: it goes on
        /// from there.
        var owed: [[UInt8]] = []

        mutating func pay(_ out: OutputFile) throws {
            while !owed.isEmpty {
                try out.drain(&owed[0])
                owed.removeFirst()
            }
        }
    }

    /// - Parameter position: what the reader has already; `nil`: nothing.
    func run(after position: Int64?, isFollowing: Bool) async throws {
        let reader = Mutex(
            Reader(
                format: DrinkLines(format), position: position ?? 0, known: position ?? 0,
                isAtBeginning: position == nil))
        guard isFollowing else { return try reader.withLock { try tell(&$0) } }
        try await StoreFollow(place: place).run { look(reader) }
    }

    private func look(_ reader: borrowing Mutex<Reader>) -> Duration {
        reader.withLock { reader in
            do {
                try tell(&reader)
                reader.trouble = nil
            } catch is OutputFile.NobodyReads {
                // Whoever watches the output ends us.
            } catch {
                let sentence = Escaping.replacing("\(Failures.explained(error))", ["\n": " "])
                if reader.trouble != sentence { Diagnostics.warning(sentence) }
                reader.trouble = sentence
                return DayFollower.longestPause
            }
            // Time alone changes no drink.
            return .seconds(3600)
        }
    }

    private func tell(_ reader: inout Reader) throws {
        // Before it is opened: of one that takes its place now, the next look tells.
        let file = FileIdentity(place.path)
        let store = try DeskOpening(options, place: place).desk(for: .looking).store
        let out = try OutputFile("-")
        if reader.isAtBeginning {
            reader.owed.append(Array(reader.format.opening.utf8))
            reader.isAtBeginning = false
        }
        try reader.pay(out)
        // It may come back as it was.
        if store.found == .nothing, reader.position > 0 { return }
        let last = try store.lastDrinkPlace()
        let isAnother = reader.file != nil && file != nil && reader.file != file
        if try reader.position > 0 && (isAnother || !store.isDrinkPlace(reader.position)) {
            Diagnostics.warning(
                "Another store has taken its place, or it was purged or restored: all of it is told anew.")
            (reader.position, reader.known) = (0, 0)
        }
        if file != nil { reader.file = file }
        while reader.position < last {
            let found = try store.drinkLines(
                after: reader.position, known: reader.known, through: last, limit: Self.batch)
            var bytes: [UInt8] = []
            for line in found.lines {
                let whole = bytes.count
                reader.format.append(line, to: &bytes)
                guard bytes.count > Self.piece, whole > 0 else { continue }
                reader.owed.append(Array(bytes[..<whole]))
                bytes.removeFirst(whole)
            }
            reader.owed.append(bytes)
            reader.position = found.position
            try reader.pay(out)
        }
        reader.known = last
    }
}
