import FleetStore
import Foundation
import Glibc
import Synchronization

/// Tells who watches whose days became others, whichever server stored it: over one connection on which PostgreSQL
/// notifies.
final class FleetFeed: Sendable {
    /// So many may watch at once.
    static let limit = 500
    private static let pingEvery = Duration.seconds(15)

    enum Event: Sendable {
        /// Of whom, each once, by the bytes of the name; `nil`: of many.
        case changed([String]?)
        case ping
    }

    /// As many watch as may.
    struct Full: Error {}

    private struct State {
        var next = 0
        var watchers: [Int: AsyncStream<Event>.Continuation] = [:]
        var isOver = false
    }

    private let database: String
    private let state = Mutex(State())

    init(_ database: String) { self.database = database }

    func watch() throws -> Watch {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(50))
        let id = try state.withLock { state throws(Full) in
            guard state.watchers.count < Self.limit else { throw Full() }
            state.next += 1
            state.watchers[state.next] = continuation
            return state.next
        }
        return Watch(self, id, stream)
    }

    /// A place among those who watch; given back at the latest when nobody holds it any more, so also where an answer
    /// never begins.
    final class Watch: Sendable {
        let events: AsyncStream<Event>
        private let feed: FleetFeed
        private let id: Int

        fileprivate init(_ feed: FleetFeed, _ id: Int, _ events: AsyncStream<Event>) {
            (self.feed, self.id, self.events) = (feed, id, events)
        }

        func leave() { feed.leave(id) }

        deinit { feed.leave(id) }
    }

    private func leave(_ id: Int) { state.withLock { $0.watchers.removeValue(forKey: id) }?.finish() }

    /// Listens until its task is cancelled.
    func run() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    while !self.isOver {
                        do { try self.listen() } catch {
                            // Who watches learns nothing for a moment, and everything again with what is stored next.
                            for _ in 0..<10 where !self.isOver { usleep(100_000) }
                        }
                    }
                    continuation.resume()
                }
                thread.name = "listen"
                thread.start()
            }
        } onCancel: {
            let watchers = state.withLock { state in
                state.isOver = true
                return state.watchers.values
            }
            for watcher in watchers { watcher.finish() }
        }
    }

    private var isOver: Bool { state.withLock { $0.isOver } }

    private func listen() throws {
        let connection = try FleetConnection(database)
        try connection.script("LISTEN \(FleetStore.channel)")
        // What was said while nobody listened.
        tell(.changed(nil))
        var pinged = ContinuousClock.now
        while !isOver {
            let said = try connection.notifications(within: .milliseconds(300))
            if !said.isEmpty { tell(.changed(said.contains("") ? nil : Self.each(said))) }
            guard pinged + Self.pingEvery < .now else { continue }
            pinged = .now
            // A server that is gone without a word notifies of nothing any more, and nobody would miss it.
            try connection.run("SELECT 1")
            tell(.ping)
        }
    }

    /// Swift takes two spellings of a letter for one, and they are two people.
    private static func each(_ said: [String]) -> [String] {
        Array(
            Dictionary(said.flatMap { $0.split(separator: "\n").map { (Array($0.utf8), String($0)) } }) { first, _ in
                first
            }.values)
    }

    private func tell(_ event: Event) {
        for watcher in state.withLock({ Array($0.watchers.values) }) { watcher.yield(event) }
    }
}
