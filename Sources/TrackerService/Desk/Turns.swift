import Synchronization

/// One after the other, in the order in which they were asked for.
package final class Turns: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Nobody's turn yet.
    package init() {}

    /// Runs this once all before it have ended.
    package func take<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
        await begin(body).value
    }

    /// The same, without waiting for the end.
    package func begin<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Task<Result, Never> {
        last.withLock { last in
            let before = last
            let task = Task {
                await before?.value
                return await body()
            }
            last = Task { _ = await task.value }
            return task
        }
    }
}
