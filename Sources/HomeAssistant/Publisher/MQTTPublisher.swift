package import Store
import Logging
import Synchronization
import TrackerCore
package import TrackerService
import Utilities

/// Publishes a store to an MQTT broker, and executes commands from there if enabled (tracker spec 10.5).
package actor MQTTPublisher {
    package struct Dependencies: Sendable {
        package let context: PublisherContext
        package let service: ServiceClient
        package let version: String
        /// Called after a command has changed the store.
        package var storeChanged: @Sendable () async -> Void = {}
        /// Reserves a client ID on this host until the result is released.
        package var claim: @Sendable (_ client: String) throws -> (any Sendable)? = { _ in nil }
        /// Returns the machine and path of the store, to detect a copied store; `nil` for a store in memory.
        package var publisherLocation: @Sendable () -> PublisherLocation? = { nil }

        package init(_ context: PublisherContext, service: ServiceClient, version: String) {
            (self.context, self.service, self.version) = (context, service, version)
        }
    }

    static let name = "mqtt"
    private static let fastInterval = Duration.milliseconds(150)
    /// The interval between checks for changes if file events report writes to the store.
    private static let slowInterval = Duration.seconds(2)
    private static let settingsInterval = Duration.seconds(1)
    /// The maximum number of drinks that wait for a broker: about three years of drinks.
    private static let waitingLimit = 20_000
    /// Repeated connections that end within this time can have a rejected message or a second client with the same ID
    /// as the cause.
    private static let briefDuration = Duration.seconds(60)

    nonisolated let dependencies: Dependencies
    nonisolated var context: PublisherContext { dependencies.context }
    nonisolated let channel: MQTTChannel
    /// The channel with the notifications that it missed.
    nonisolated let notifications: BufferedSink
    nonisolated let rejections: Rejections
    /// Whether this process has seen an MQTT client ID in the store. If the store has none now, it was purged.
    private nonisolated let hadIdentity = Mutex(false)
    private let pause = Pause()
    private var lastProblem: String?
    /// The error that another store publishes to the same topics.
    private var prefixProblem: String?
    /// Whether the settings named a broker at the last check; `nil` before the first.
    private var wasOn: Bool?
    private var hasFileEvents = false
    private var reportedBrokers: Set<String> = []
    private var briefConnections = 0
    private(set) var connections = 0
    private(set) var published = 0
    /// Changes that the broker has confirmed and the store has not recorded yet.
    private(set) var unrecordedChanges: Set<DrinkChange> = []
    nonisolated let startTime = ContinuousClock.now

    /// - Parameter notifications: delivers missed notifications to the channel before new ones.
    package init(_ dependencies: Dependencies, channel: MQTTChannel, notifications: BufferedSink) {
        (self.dependencies, self.channel, self.notifications) = (dependencies, channel, notifications)
        rejections = Rejections(log: dependencies.context.log)
    }

    /// Makes the store record drinks for publication. Call it before any drink is stored.
    package nonisolated func prepare() {
        guard let tracker = try? context.tracker(), (try? plan()) != nil else { return }
        _ = try? open(tracker)
    }

    /// Runs until its task is cancelled.
    package func run() async {
        var backoff = Backoff()
        let observation = DayObserver.observe(context.watch, pausesAfterWrite: DayObserver.pausesAfterWrite) {
            await self.checkNow()
        }
        hasFileEvents = observation != nil
        defer { observation?.cancel() }
        while !Task.isCancelled {
            var plan: MQTTPlan?
            let (start, before) = (ContinuousClock.now, connections)
            do {
                plan = try self.plan()
                guard let plan else {
                    try turnOff()
                    await pauseFor(DayObserver.checkInterval(hasFileEvents: hasFileEvents))
                    continue
                }
                wasOn = true
                defer { if ContinuousClock.now - start > .seconds(30) { backoff.reset() } }
                try await MQTTSession.run(self, plan)
                backoff.reset()
            } catch {
                channel.connect(nil)
                briefConnections =
                    connections > before && ContinuousClock.now - start < Self.briefDuration ? briefConnections + 1 : 0
                // Some versions of mosquitto disconnect after each rejected message.
                let isRepeated = briefConnections > 1
                report(error, plan, lossCause: isRepeated ? rejections.sentences ?? MQTTAdvice.otherClient : nil)
                await wait(
                    isCopy(error) ? Self.slowInterval : backoff.next(jitter: context.randomFraction()), while: plan)
            }
        }
    }

    /// Checks the settings and the store for changes at once.
    package func checkNow() { pause.end() }

    nonisolated func plan() throws -> MQTTPlan? { try MQTTPlan(context.settings()) }

    /// Registers the publisher in the store. After a purge, all drinks since then are published.
    nonisolated func open(_ tracker: TrackerAPI) throws -> Publisher {
        try tracker.store.recordSharing(context.sharesWaterline())
        return try hadIdentity.withLock { hadIdentity in
            let identity = try tracker.store.openPublisher(Self.name, includesStored: hadIdentity) {
                Self.newID(tracker)
            }
            hadIdentity = true
            return identity
        }
    }

    /// Whether the settings name another broker or none, so that retained messages must be deleted at the old one.
    nonisolated func hasChangedBroker(_ plan: MQTTPlan) -> Bool {
        do { return try self.plan()?.address != plan.address } catch { return false }
    }

    /// Handles a new connection.
    /// - Returns: a unique id of the connection for `bridge/info`.
    func connected(_ plan: MQTTPlan, _ connection: MQTTConnection) -> String {
        connections += 1
        (lastProblem, prefixProblem) = (nil, nil)
        rejections.begin(at: plan.address, connection.limitations)
        recordProblem()
        let suffix = UInt32(min(1, max(0, context.randomFraction())) * Double(UInt32.max))
        return "\(connections)-\(String(suffix, radix: 36))"
    }

    /// Records that another store publishes to the same topics.
    func recordOtherStore(_ other: String?, at topics: Topics) {
        let problem = other.map {
            """
            Another store (\(MQTTPlan.client($0))) publishes at \(topics.prefix)/…, too, and each overwrites the \
            other. Set another prefix for one of them (mqtt.prefix, in the file prefix).
            """
        }
        if problem != prefixProblem {
            prefixProblem = problem
            if let problem {
                context.log.warning("MQTT: \(problem) \(MQTTAdvice.prefixShared(store: context.store.path))")
            }
        }
        recordProblem()
    }

    /// Stores the errors, which `status` and `doctor` show.
    private func recordProblem() {
        let message = lastProblem ?? prefixProblem ?? rejections.sentences
        if let tracker = try? context.tracker() {
            try? tracker.store.recordProblem(message, of: Self.name, at: tracker.now)
        }
    }

    func count(published more: Int) { published += more }

    func addConfirmed(_ changes: [DrinkChange]) { unrecordedChanges.formUnion(changes) }

    func removeConfirmed(through last: Int64) { unrecordedChanges = unrecordedChanges.filter { $0.sequence > last } }

    func waitForChanges() async { await pauseFor(hasFileEvents ? Self.slowInterval : Self.fastInterval) }

    /// Reports retained messages at other brokers, which cannot be deleted from here.
    func reportStaleTopics(except plan: MQTTPlan?) {
        for stale in (try? context.tracker().store.staleTopics()) ?? []
        where !["", plan.map { "\($0.address)" }].contains(stale.brokerAddress)
            && reportedBrokers.insert(stale.brokerAddress).inserted
        {
            context.log.warning(
                """
                MQTT: The broker at \(stale.brokerAddress) still retains \(counted(stale.topics.count, "message")) of \
                this store (\(stale.topics[0])\(stale.topics.count > 1 ? " and more" : "")). To clear them, set \
                mqtt.url to that broker, and then back.
                """)
        }
    }

    private func turnOff() throws {
        lastProblem = nil
        recordProblem()
        let store = try context.tracker().store
        let wasOpen = try store.closePublisher(Self.name, unlessWaitingAtMost: Self.waitingLimit)
        guard wasOn != false || wasOpen else { return }
        if wasOn == true || wasOpen { context.log.notice("MQTT: no broker is configured now.") }
        wasOn = false
        // Keep waiting drinks, because the service might have been started without its configuration.
        if try store.isPublisherOpen(Self.name) {
            let waiting = try store.waitingChanges(for: Self.name)
            context.log.warning("MQTT: No broker is set, and \(counted(waiting, "drink")) wait for one.")
        }
        try store.markTopicsStale(of: Self.name)
        reportStaleTopics(except: nil)
    }

    private func report(_ error: any Error, _ plan: MQTTPlan?, lossCause: String?) {
        let text = MQTTAdvice.message(error, plan, lossCause: lossCause)
        guard text != lastProblem, !Task.isCancelled else { return }
        lastProblem = text
        let store = context.store.path
        if isCopy(error) {
            context.log.warning("MQTT: \(text) \(MQTTAdvice.copied(store: store))")
        } else {
            let advice = text.contains(MQTTAdvice.otherClient) ? " \(MQTTAdvice.clientIDShared(store: store))" : ""
            context.log.warning("MQTT: \(asSentence(text)) It is retried automatically.\(advice)")
        }
        // Do this last, because it can wait for the store.
        recordProblem()
    }

    /// Waits until the time has passed or the settings change.
    private func wait(_ length: Duration, while plan: MQTTPlan?) async {
        let end = ContinuousClock.now + length
        while !Task.isCancelled, ContinuousClock.now < end {
            await pauseFor(min(Self.settingsInterval, end - .now))
            guard (try? self.plan()) == plan || plan == nil else { return }
        }
    }

    /// Waits until the time has passed or `checkNow` is called.
    private func pauseFor(_ length: Duration) async { await pause.wait { try? await Task.sleep(for: length) } }
}
