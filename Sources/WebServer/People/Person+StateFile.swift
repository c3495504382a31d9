import NIOCore
import Store
import TrackerCore
import TrackerService

extension Person {
    /// How often the store is asked whether the file has to be written anew, where nobody tells of writes.
    static let fileLookEvery = Duration.milliseconds(500)

    /// Keeps the state in a file beside the store, for programs that ask nobody (tracker law Section 10.7): written
    /// when it says something else than before, looked at once a minute although nothing was written. Goes on until the
    /// task is cancelled.
    /// - Parameters:
    ///   - watch: tells of writes; without it the store is asked all the time.
    ///   - every: how long the file may say what time alone has changed.
    ///   - trouble: takes what goes wrong, once until it changes.
    package func keepStateFile(
        _ watch: StoreWatch? = nil, every: Duration = DayFollower.longestPause,
        trouble: @escaping @Sendable (String) -> Void
    ) async {
        let keeper = StateFileKeeper(person: self, trouble: trouble)
        guard let watch else {
            while !Task.isCancelled {
                await keeper.look()
                try? await Task.sleep(for: Self.fileLookEvery)
            }
            return
        }
        await DayFollower(writes: watch.writes, settling: DayFollower.calmly) {
            await keeper.look()
            return every
        }.run()
        withExtendedLifetime(watch) {}
    }
}

/// What the file beside the store says, and when it has to say something else.
private actor StateFileKeeper {
    private let person: Person
    private let trouble: @Sendable (String) -> Void
    private var written: (mark: TrackerStore.ChangeMark, at: Instant, tag: String)?
    private var lastTrouble: String?

    init(person: Person, trouble: @escaping @Sendable (String) -> Void) {
        (self.person, self.trouble) = (person, trouble)
    }

    func look() async {
        do {
            let desk = try person.desk()
            let mark = try desk.store.changeMark()
            // A pause of a minute may end a little early.
            if written.map({ $0.mark != mark || abs($0.at.seconds(to: desk.now)) >= StateFeed.tickSeconds - 1 }) ?? true
            {
                let text = try await person.feed.current()
                if text.tag != written?.tag { try desk.store.writeStateFile(Array(text.bytes.readableBytesView)) }
                written = (mark, desk.now, text.tag)
            }
            lastTrouble = nil
        } catch {
            let words = FileTrouble.words(error)
            if lastTrouble != words { trouble(words) }
            lastTrouble = words
        }
    }
}
