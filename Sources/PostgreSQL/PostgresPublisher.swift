package import Logging
package import Store
import TrackerCore
package import TrackerService
import Utilities

/// Writes the drinks of a store to PostgreSQL, with all corrections and deletions.
///
/// It connects when the store has changes, writes them in their order, and disconnects. The database has the position
/// of the last change, in the same transaction as the change. So a change is neither lost nor written twice, and a
/// database that was restored from a backup receives what it lost.
package actor PostgresPublisher {
    package static let name = "postgres"
    /// The longest time between two reports to the database.
    private static let reportInterval = Duration.seconds(900)
    /// The interval between checks for changes without file events.
    private static let checkInterval = Duration.seconds(2)

    private nonisolated let plan: PostgresPlan
    private nonisolated let tracker: @Sendable () throws -> TrackerAPI
    private nonisolated let version: String
    private nonisolated let watch: StoreWatch?
    private nonisolated let log: Logger
    private nonisolated let randomFraction: @Sendable () -> Double
    private let pause = Pause()
    private var lastProblem: String?
    private var lastReport: ContinuousClock.Instant?
    /// The number of drinks in a transaction: smaller after a timeout.
    private var limit = PostgresSession.limit

    /// - Parameters:
    ///   - tracker: creates an application API for one request.
    ///   - version: the version of this program.
    ///   - watch: reports writes to the store. If `nil`, the store is polled.
    ///   - randomFraction: returns a random number from 0 to 1.
    package init(
        _ plan: PostgresPlan, tracker: @escaping @Sendable () throws -> TrackerAPI, version: String,
        watch: StoreWatch? = nil, log: Logger,
        randomFraction: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        (self.plan, self.tracker, self.version, self.watch) = (plan, tracker, version, watch)
        (self.log, self.randomFraction) = (log, randomFraction)
    }

    /// Makes the store record changes for the database. Call it before any drink is stored.
    package nonisolated func prepare() {
        if let tracker = try? self.tracker() { _ = try? Self.open(tracker) }
    }

    private static func open(_ tracker: TrackerAPI) throws -> Publisher {
        try tracker.store.openPublisher(name, makeID: tracker.context.makeID)
    }

    /// Stops the recording of changes, for a service without a database.
    package static func turnOff(_ store: TrackerStore) { _ = try? store.closePublisher(name) }

    /// Connects and checks the schema and the role; writes nothing.
    /// - Throws: `PostgresFailure` with the action.
    package static func check(_ plan: PostgresPlan) async throws { _ = try await PostgresSession(plan) }

    /// Runs until its task is cancelled.
    package func run() async {
        var backoff = Backoff(first: .seconds(2), longest: .seconds(300))
        let observation = DayObserver.observe(watch) { await self.checkNow() }
        defer { observation?.cancel() }
        while !Task.isCancelled {
            do {
                if try isDue() {
                    try await send()
                    resumed()
                    backoff.reset()
                    limit = PostgresSession.limit
                }
                let length = observation == nil ? Self.checkInterval : Self.reportInterval
                await pause.wait { try? await Task.sleep(for: length) }
            } catch {
                report(error)
                if (error as? PostgresFailure)?.isTimeout == true { limit = max(100, limit / 4) }
                try? await Task.sleep(for: backoff.next(jitter: randomFraction()))
            }
        }
    }

    /// Checks the store for changes at once.
    package func checkNow() { pause.end() }

    /// Writes all drinks that the database does not have, and reports the state of the gateway.
    package func send() async throws {
        let tracker = try self.tracker()
        let (store, publisher) = (tracker.store, try Self.open(tracker))
        var session = try await PostgresSession(plan)
        if let other = session.store, other != publisher.id { throw PostgresFailure.otherStore }
        let isKnown =
            try session.store != nil && session.epoch == store.drinkEpoch() && session.position == publisher.position
        if !isKnown { try await sendAll(of: store, as: publisher.id, over: &session) }
        while case let changes = try store.changes(for: Self.name, limit: limit),
            let last = changes.last
        {
            try await session.write(
                .init(changes.map { ($0.key, $0.drink) }), isFirst: false, position: last.sequence)
            try store.confirmChanges(of: Self.name, through: last.sequence)
        }
        try await session.report(
            store.settings(), zone: tracker.zone, bottles: store.bottles(), version: version)
        lastReport = .now
    }

    /// Makes the journal equal to the store: writes every drink, and withdraws those that the store does not have.
    private func sendAll(of store: TrackerStore, as id: String, over session: inout PostgresSession) async throws {
        // Later changes are sent after this.
        let (epoch, position) = (try store.drinkEpoch(), try store.lastChange())
        try await session.claim(id)
        let isFirst = try await session.isEmpty()
        var others = isFirst ? [] : try await session.keys()
        var next = try Self.batch(of: store, after: 0, limit: limit)
        while let part = next {
            // The database writes a batch while the next one is read.
            async let following = Self.batch(of: store, after: part.last, limit: limit)
            try await session.write(part.batch, isFirst: isFirst, position: nil)
            others.subtract(part.keys)
            next = try await following
        }
        while !others.isEmpty {
            let part = others.prefix(limit)
            try await session.write(.init(part.map { ($0, nil) }), isFirst: false, position: nil)
            others.subtract(part)
        }
        try await session.adopt(epoch: epoch, position: position)
        try store.confirmChanges(of: Self.name, through: position)
        log.notice("PostgreSQL: all drinks are in \(plan).")
    }

    /// The drinks after a number; `nil` if there are none.
    private static func batch(of store: TrackerStore, after number: Int64, limit: Int) throws
        -> (batch: PostgresSession.Batch, keys: [String], last: Int64)?
    {
        let drinks = try store.countedDrinks(after: number, limit: limit)
        return drinks.last.map {
            (PostgresSession.Batch(drinks.map { ($0.key, $0) }), drinks.map(\.key), $0.number)
        }
    }

    /// Whether the database needs a connection now.
    private func isDue() throws -> Bool {
        guard lastProblem == nil, let lastReport, ContinuousClock.now - lastReport < Self.reportInterval else {
            return true
        }
        return try tracker().store.waitingChanges(for: Self.name) > 0
    }

    private func report(_ error: any Error) {
        let text = (error as? any Problem)?.sentence ?? "\(error)"
        guard text != lastProblem, !Task.isCancelled else { return }
        lastProblem = text
        log.warning("PostgreSQL: \(asSentence(text)) It is retried automatically.")
        recordProblem()
    }

    private func resumed() {
        guard lastProblem != nil else { return recordProblem() }
        lastProblem = nil
        log.notice("PostgreSQL continues.")
        recordProblem()
    }

    /// Stores the error, which `status` and `doctor` show.
    private func recordProblem() {
        if let tracker = try? self.tracker() {
            try? tracker.store.recordProblem(lastProblem, of: Self.name, at: tracker.now)
        }
    }
}
