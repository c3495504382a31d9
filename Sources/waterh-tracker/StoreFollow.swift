import ArgumentParser
import CommandSupport
import Store
import TrackerService

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
