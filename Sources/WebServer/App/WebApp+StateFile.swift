import NIOCore
package import Store
import TrackerCore
import TrackerService

extension WebApp {
    /// The interval between checks of the store if the system does not report writes to it.
    static let fileCheckInterval = Duration.milliseconds(500)

    /// Keeps a file next to the store up to date with the state, for other programs (tracker spec Section 10.7). Runs
    /// until the task is cancelled.
    /// - Parameters:
    ///   - watch: reports writes to the store. If `nil`, the store is polled.
    ///   - every: the maximum age of values that change with time.
    ///   - reportError: receives errors; a repeated one only once.
    package func updateStateFile(
        _ watch: StoreWatch? = nil, every: Duration = DayObserver.longestPause,
        reportError: @escaping @Sendable (String) -> Void
    ) async {
        let writer = StateFileWriter(app: self, reportError: reportError)
        let pause = watch == nil ? Self.fileCheckInterval : every
        await DayObserver(writes: watch?.writes ?? AsyncStream { _ in }, pausesAfterWrite: DayObserver.slowPauses) {
            await writer.update()
            return pause
        }.run()
        withExtendedLifetime(watch) {}
    }
}

/// Writes the file when the state has changed.
private actor StateFileWriter {
    private let app: WebApp
    private let reportError: @Sendable (String) -> Void
    private var written: (version: TrackerStore.DataVersion, at: Instant, tag: String)?
    private var lastProblem: String?

    init(app: WebApp, reportError: @escaping @Sendable (String) -> Void) {
        (self.app, self.reportError) = (app, reportError)
    }

    func update() async {
        do {
            let tracker = try app.tracker()
            let version = try tracker.store.dataVersion()
            // A pause of a minute can end slightly early.
            if written.map({ $0.version != version || abs($0.at.seconds(to: tracker.now)) >= StateFeed.tickSeconds - 1 }
            )
                ?? true
            {
                let text = try await app.feed.current().full
                if text.tag != written?.tag { try tracker.store.writeStateFile(Array(text.bytes.readableBytesView)) }
                written = (version, tracker.now, text.tag)
            }
            lastProblem = nil
        } catch {
            let message = FileErrorText.text(error)
            if lastProblem != message { reportError(message) }
            lastProblem = message
        }
    }
}
