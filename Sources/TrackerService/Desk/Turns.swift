import Synchronization

/// One after the other, in the order in which they were asked for.
public final class Turns: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Nobody's turn yet.
    public init() {}

    /// Runs this once all before it have ended.
    public func take<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
        await begin(body).value
    }

    /// The same, without waiting for the end.
    public func begin<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Task<Result, Never> {
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
