import TrackerCore

/// The day as it changes: looks whenever something was written, by whatever program, and whenever the mere passing of time changes it, at least every
/// 60 s (tracker law B8). While nothing is written and nothing changes, nothing is done.
public actor DayFollower {
    /// A commit can be read a moment after it was heard of (it is forced to the disk first): so after the last word it is looked again, each time later.
    static let settling: [Duration] = [10, 20, 40, 80, 150, 300, 600, 1200].map { .milliseconds($0) }

    /// The longest pause between two looks.
    public static let longestPause = Duration.seconds(60)

    private let writes: AsyncStream<Void>
    private let look: @Sendable () async -> Duration
    private let sleep: @Sendable (Duration) async -> Void
    private var looksSinceWrite = DayFollower.settling.count
    private var isPoked = false
    private var pause: Task<Void, Never>?

    /// - Parameters:
    ///   - writes: one for each time that something was written.
    ///   - look: says how long nothing will change by itself.
    ///   - sleep: ends early when its task is cancelled.
    public init(
        writes: AsyncStream<Void>, sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        look: @escaping @Sendable () async -> Duration
    ) {
        (self.writes, self.look, self.sleep) = (writes, look, sleep)
    }

    /// Goes on until its task is cancelled.
    public func run() async {
        let writes = writes
        let hearing = Task { for await _ in writes { self.poke() } }
        defer { hearing.cancel() }
        while !Task.isCancelled {
            isPoked = false
            let length = await look()
            let rest = looksSinceWrite < Self.settling.count ? min(length, Self.settling[looksSinceWrite]) : length
            looksSinceWrite = min(looksSinceWrite + 1, Self.settling.count)
            if isPoked {
                // A program that writes all the time is not followed line by line.
                await sleep(Self.settling[0])
                continue
            }
            let sleep = sleep
            let pause = Task { await sleep(rest) }
            self.pause = pause
            await withTaskCancellationHandler { await pause.value } onCancel: { pause.cancel() }
        }
    }

    private func poke() {
        looksSinceWrite = 0
        isPoked = true
        pause?.cancel()
    }
}
