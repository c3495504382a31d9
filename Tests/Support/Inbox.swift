import Synchronization

/// The reported events of a link, with waits that have a limit.
package final class Inbox<Event: Sendable>: Sendable {
    private struct State {
        var all: [Event] = []
        var taken = 0
        var isFinished = false
    }

    private let state = Mutex(State())
    private let limit: Duration

    /// - Parameter limit: the time limit of each wait.
    package init(_ events: AsyncStream<Event>, limit: Duration = .seconds(10)) {
        self.limit = limit
        Task {
            for await event in events { state.withLock { $0.all.append(event) } }
            state.withLock { $0.isFinished = true }
        }
    }

    package var all: [Event] { state.withLock { $0.all } }

    /// The next event that `match` accepts; skips earlier ones.
    package func next<Result: Sendable>(
        _ what: String = "event", _ match: @Sendable (Event) -> Result?
    ) async throws -> Result {
        try await wait(for: what) { state in
            while state.taken < state.all.count {
                state.taken += 1
                if let result = match(state.all[state.taken - 1]) { return result }
            }
            return nil
        }
    }

    package func waitUntilFinished() async throws { try await wait(for: "the end") { $0.isFinished ? () : nil } }

    private func wait<Result: Sendable>(for what: String, _ find: (inout State) -> Result?) async throws -> Result {
        let deadline = ContinuousClock.now + limit
        while true {
            let (result, isFinished) = state.withLock { (find(&$0), $0.isFinished) }
            if let result { return result }
            guard !isFinished, ContinuousClock.now < deadline else {
                throw Missing(what: what, all: all.map { "\($0)" })
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    package struct Missing: Error {
        var what: String
        var all: [String]
    }
}

extension Inbox where Event: Equatable {
    package func next(_ event: Event) async throws {
        _ = try await next("\(event)") { $0 == event ? true : nil }
    }
}
