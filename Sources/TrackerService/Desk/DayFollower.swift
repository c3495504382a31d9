import Store
import TrackerCore

/// The day as it changes: looks whenever something was written, by whatever program, and whenever the mere passing of
/// time changes it, at least every 60 s (tracker law B8). While nothing is written and nothing changes, nothing is
/// done.
package actor DayFollower {
    /// A commit can be read a moment after it was heard of (it is forced to the disk first): so after the last word it
    /// is looked again, each time later.
    package static let settling: [Duration] = [10, 20, 40, 80, 150, 300, 600, 1200].map { .milliseconds($0) }

    /// For whom a second is soon enough.
    package static let calmly: [Duration] = [300, 1500, 5000].map { .milliseconds($0) }

    /// The longest pause between two looks.
    package static let longestPause = Duration.seconds(60)

    /// How often somebody looks who is not told of writes, or has something in hand.
    package static let lookOften = Duration.seconds(3)

    /// How often somebody looks by themselves: seldom where writes are told.
    package static func lookEvery(isTold: Bool) -> Duration { isTold ? longestPause : lookOften }

    private let writes: AsyncStream<Void>
    private let settling: [Duration]
    private let look: @Sendable () async -> Duration
    private let sleep: @Sendable (Duration) async -> Void
    private var looksSinceWrite: Int
    private var isPoked = false
    private var pause: Task<Void, Never>?

    /// - Parameters:
    ///   - writes: one for each time that something was written.
    ///   - look: says how long nothing will change by itself.
    ///   - settling: the pauses between the looks after the last word; not empty.
    ///   - sleep: ends early when its task is cancelled.
    package init(
        writes: AsyncStream<Void>, settling: [Duration] = DayFollower.settling,
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        look: @escaping @Sendable () async -> Duration
    ) {
        (self.writes, self.settling, self.look, self.sleep) = (writes, settling, look, sleep)
        looksSinceWrite = settling.count
    }

    /// Goes on until its task is cancelled.
    package func run() async {
        let writes = writes
        let hearing = Task { for await _ in writes { self.poke() } }
        defer { hearing.cancel() }
        while !Task.isCancelled {
            isPoked = false
            let length = await look()
            let rest = looksSinceWrite < settling.count ? min(length, settling[looksSinceWrite]) : length
            looksSinceWrite = min(looksSinceWrite + 1, settling.count)
            if isPoked {
                // A program that writes all the time is not followed line by line.
                await sleep(settling[0])
                continue
            }
            let sleep = sleep
            let pause = Task { await sleep(rest) }
            self.pause = pause
            await withTaskCancellationHandler {
                await pause.value
            } onCancel: {
                pause.cancel()
            }
        }
    }

    /// Calls `wake` soon after every write, until the task is cancelled; `nil` where nobody tells of writes: then one
    /// has to look by oneself.
    package static func waking(_ watch: StoreWatch?, _ wake: @escaping @Sendable () async -> Void) -> Task<Void, Never>?
    {
        guard let watch else { return nil }
        let writes = watch.writes
        return Task {
            await DayFollower(writes: writes, settling: calmly) {
                await wake()
                return longestPause
            }.run()
            // It speaks for as long as it is held.
            withExtendedLifetime(watch) {}
        }
    }

    private func poke() {
        looksSinceWrite = 0
        isPoked = true
        pause?.cancel()
    }
}
