import NIOCore
import Store
import TrackerCore
import TrackerService

extension Person {
    /// The interval of checks for writes, without notifications of writes.
    static let fileCheckInterval = Duration.milliseconds(500)

    /// Writes the state to a file next to the store, for other programs (tracker spec Section 10.7). Checks for changes
    /// at each write, and once a minute. Runs until the task is cancelled.
    /// - Parameters:
    ///   - watch: reports writes; without it the store is polled.
    ///   - every: the maximum age of values that only time has changed.
    ///   - trouble: receives errors, once until they change.
    package func keepStateFile(
        _ watch: StoreWatch? = nil, every: Duration = DayObserver.longestPause,
        trouble: @escaping @Sendable (String) -> Void
    ) async {
        let keeper = StateFileKeeper(person: self, trouble: trouble)
        let pause = watch == nil ? Self.fileCheckInterval : every
        await DayObserver(writes: watch?.writes ?? AsyncStream { _ in }, settling: DayObserver.calmly) {
            await keeper.look()
            return pause
        }.run()
        withExtendedLifetime(watch) {}
    }
}

/// The content of the file, and when it must be written again.
private actor StateFileKeeper {
    private let person: Person
    private let trouble: @Sendable (String) -> Void
    private var written: (mark: TrackerStore.ChangeMark, at: Instant, tag: String)?
    private var lastProblem: String?

    init(person: Person, trouble: @escaping @Sendable (String) -> Void) {
        (self.person, self.trouble) = (person, trouble)
    }

    func look() async {
        do {
            let tracker = try person.tracker()
            let mark = try tracker.store.changeMark()
            // A pause of a minute may end slightly early.
            if written.map({ $0.mark != mark || abs($0.at.seconds(to: tracker.now)) >= StateFeed.tickSeconds - 1 })
                ?? true
            {
                let text = try await person.feed.current().whole
                if text.tag != written?.tag { try tracker.store.writeStateFile(Array(text.bytes.readableBytesView)) }
                written = (mark, tracker.now, text.tag)
            }
            lastProblem = nil
        } catch {
            let words = FileErrorText.words(error)
            if lastProblem != words { trouble(words) }
            lastProblem = words
        }
    }
}
