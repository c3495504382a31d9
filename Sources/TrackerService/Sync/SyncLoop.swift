import Store
import TrackerCore

/// Tells `sync.url` what changed and takes in what other devices wrote, beside the polls: neither waits for the other.
package struct SyncLoop: Sendable {
    /// What there is to say to people.
    package enum Word: Hashable, Sendable {
        /// It does not work, with the reason; told once, until it changes.
        case trouble(String)
        /// It works again.
        case goesOn
        /// So many rows of the server cannot be taken.
        case refused(Int)
        /// Something that follows a commit went wrong.
        case afterCommit(String)
    }

    /// One exchange with a server.
    package typealias Exchange = @Sendable (_ store: TrackerStore, _ zone: Zone) async throws -> SyncClient.Pass
    /// The server that the settings name; `nil` where they name none.
    package typealias Connect = @Sendable (_ settings: Settings) throws -> Exchange?

    private let store: TrackerStore
    private let context: @Sendable () async -> WriteContext
    private let now: @Sendable () -> ContinuousClock.Instant
    private let connect: Connect
    private let tell: @Sendable (Word) -> Void

    /// How often it looks whether there is anything to tell, and how often it asks when there is not.
    package static let tick = Duration.seconds(20)
    /// How often other devices' changes are asked for.
    package static let askEvery = Duration.seconds(300)

    /// - Parameters:
    ///   - context: the moment and the zone of a write, read anew each time.
    ///   - now: for how often it asks.
    package init(
        store: TrackerStore, context: @escaping @Sendable () async -> WriteContext,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        connect: @escaping Connect, tell: @escaping @Sendable (Word) -> Void
    ) {
        self.store = store
        self.context = context
        self.now = now
        self.connect = connect
        self.tell = tell
    }

    /// The server over HTTP; `wall` is the time of what it is told.
    package static func overHTTP(wall: @escaping @Sendable () -> Instant) -> Connect {
        { settings in
            guard let client = try SyncClient.named(by: settings) else { return nil }
            return { store, zone in try await client.pass(store, now: wall, zone: zone) }
        }
    }

    /// Goes on until `pause` says that somebody ended it.
    package func run(pause: @Sendable (Duration) async -> Bool = { (try? await Task.sleep(for: $0)) != nil }) async {
        var lastTrouble: String?
        var lastPass: ContinuousClock.Instant?
        while !Task.isCancelled {
            let isDue = lastPass.map { $0.duration(to: now()) >= Self.askEvery } ?? true
            let trouble = await pass(isDue: isDue, &lastPass)
            if trouble != lastTrouble { tell(trouble.map(Word.trouble) ?? .goesOn) }
            lastTrouble = trouble
            guard await pause(Self.tick) else { return }
        }
    }

    /// One pass, where there is a server and anything to say or to ask.
    private func pass(isDue: Bool, _ lastPass: inout ContinuousClock.Instant?) async -> String? {
        do {
            guard let exchange = try connect(store.settings()) else { return nil }
            let context = await context()
            let (_, before) = try store.syncReport()
            guard try isDue || store.outbox().next(at: context.now) != nil else { return before.trouble }
            lastPass = now()
            let pass = try await exchange(store, context.zone)
            if pass.merged.taken > 0 { for trouble in store.afterCommit(context) { tell(.afterCommit(trouble)) } }
            if pass.merged.refused > before.refused { tell(.refused(pass.merged.refused)) }
            return pass.trouble
        } catch let error as SyncTrouble {
            try? store.finishSyncPass(MergeOutcome(), trouble: error.description, at: await context().now)
            return error.description
        } catch {
            return "\(error)"
        }
    }
}
