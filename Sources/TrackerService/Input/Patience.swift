import Synchronization

/// Waits for somebody who may never answer.
enum Patience {
    /// The answer, or `nil` where none came in time. Whoever is still at it then is cancelled and not waited for.
    static func answer<Answer: Sendable>(within limit: Duration, _ body: @escaping @Sendable () async -> Answer) async
        -> Answer?
    {
        let outcome = Outcome<Answer>()
        let work = Task { outcome.end(await body()) }
        let timer = Task {
            try? await Task.sleep(for: limit)
            work.cancel()
            outcome.end(nil)
        }
        defer { timer.cancel() }
        return await outcome.value()
    }

    /// The first end counts.
    private final class Outcome<Answer: Sendable>: Sendable {
        private enum State: Sendable {
            case open
            case awaited(CheckedContinuation<Answer?, Never>)
            case ended(Answer?)
        }

        private let state = Mutex<State>(.open)

        func value() async -> Answer? {
            await withCheckedContinuation { continuation in
                let ended: State? = state.withLock { state in
                    if case .ended = state { return state }
                    state = .awaited(continuation)
                    return nil
                }
                if case .ended(let answer)? = ended { continuation.resume(returning: answer) }
            }
        }

        func end(_ answer: Answer?) {
            let before = state.withLock { state in
                let before = state
                if case .ended = before { return before }
                state = .ended(answer)
                return before
            }
            if case .awaited(let continuation) = before { continuation.resume(returning: answer) }
        }
    }
}
