import Logging
import Store
import TrackerCore
import TrackerService
import Utilities

/// One connection of the publisher. Publishes everything at its start, then changes, until the settings change.
struct MQTTSession {
    /// The maximum interval between evaluations of the state (tracker spec B8).
    private static let tick = Duration.seconds(60)
    /// The maximum interval between publications of the state, because values expire in Home Assistant.
    private static let heartbeat = Duration.seconds(300)
    private static let healthInterval = Duration.seconds(600)
    /// The maximum number of drinks per publication.
    private static let drinkBatch = 200

    private let publisher: MQTTPublisher
    private let plan: MQTTPlan
    private let identity: Publisher
    private let connection: MQTTConnection
    private let inbox: CommandInbox
    private let connectionID: String

    /// The inputs of the published state. If they are equal, the state is not computed again.
    private struct StateInputs: Hashable {
        var version: TrackerStore.DataVersion
        var service: ServiceStatus?
        var sharesWaterline: Bool
    }

    /// The retained texts by topic that the broker has accepted in this connection.
    private var sentTexts: [String: String] = [:]
    private var lastState: StatePayload?
    /// The topics with a retained message of this store.
    private var retainedTopics: Set<String>
    private var publishedInputs: StateInputs?
    private var lastTick = ContinuousClock.now
    private var lastHeartbeat = ContinuousClock.now
    private var lastHealth: ContinuousClock.Instant?
    /// The time until which missed notifications are not published, because no client subscribes.
    private var pausedUntil = ContinuousClock.now
    private var backoff = Backoff(first: .milliseconds(500), longest: .seconds(300))

    private var topics: Topics { plan.topics }
    private var context: PublisherContext { publisher.context }
    private var version: String { publisher.dependencies.version }
    private var rejections: Rejections { publisher.rejections }

    /// Connects, and publishes until the settings change, the store is purged, or the task is cancelled.
    /// - Throws: the reason why the connection failed or ended.
    static func run(_ publisher: MQTTPublisher, _ plan: MQTTPlan) async throws {
        let (dependencies, context) = (publisher.dependencies, publisher.context)
        let identity = try publisher.open(context.tracker())
        try publisher.checkLocation(identity.id)
        let claim = try dependencies.claim(MQTTPlan.client(identity.id))
        defer { withExtendedLifetime(claim) {} }
        let store = try context.tracker().store
        try store.setAddress("\(plan.address)", of: identity.name)
        await publisher.reportStaleTopics(except: plan)
        let handler = CommandHandler(
            tracker: context.tracker, service: dependencies.service, sharesWaterline: context.sharesWaterline)
        let inbox = CommandInbox(plan, handler, publisher.rejections, id: identity.id, log: context.log) {
            Task {
                await publisher.checkNow()
                await dependencies.storeChanged()
            }
        }
        let serviceTask = Task {
            for await request in inbox.requests { inbox.answer(request.name, await handler.performOnService(request)) }
        }
        defer {
            publisher.channel.connect(nil)
            inbox.connect(nil)
            serviceTask.cancel()
        }
        // The first message can arrive with CONNACK.
        let connection = try await MQTTConnection.open(
            plan.options(id: identity.id), created: { inbox.connect($0) }, receive: { try inbox.handle($0) })
        do {
            publisher.channel.connect(
                MQTTChannel.Link(
                    connection: connection, topics: plan.topics, rejections: publisher.rejections, context: context,
                    storeChanged: dependencies.storeChanged))
            let connectionID = await publisher.connected(plan, connection)
            var session = MQTTSession(
                publisher: publisher, plan: plan, identity: identity, connection: connection, inbox: inbox,
                connectionID: connectionID, retainedTopics: Set(try store.retainedTopics(of: identity.name)))
            let offline = [
                MQTTMessage(plan.topics.bridgeState, #"{"state":"offline"}"#),
                MQTTMessage(plan.topics.availability, "offline", isRetained: true),
            ]
            try await withTaskCancellationHandler {
                try await session.publishUntilEnd()
            } onCancel: {
                // Disconnect at once, so that commands that are queued at the broker wait for the next connection.
                connection.post(offline)
                connection.disconnect()
            }
            if try publisher.hasChangedBroker(plan) || !session.isCurrent() {
                try await session.clear()
            } else {
                connection.post(offline)
            }
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    private mutating func publishUntilEnd() async throws {
        if plan.acceptsCommands { try await subscribe([topics.everyCommand]) }
        context.log.notice("MQTT: connected with \(plan).")
        if let discovery = plan.discovery { try await subscribe([CommandInbox.status(discovery)]) }
        try await subscribe(PrefixConflict.filters(topics), isOwnIgnored: true)
        Task { [connection, publisher] in
            _ = await connection.ended()
            await publisher.checkNow()
        }
        try await clearOldIdentities()
        while !Task.isCancelled {
            if let failure = connection.failure { throw failure }
            guard try isCurrent(), try publisher.plan() == plan else { return }
            let events = inbox.takeEvents()
            if events.mustRepublish { (sentTexts, lastState, publishedInputs) = ([:], nil, nil) }
            await publisher.recordOtherStore(inbox.otherStore, at: topics)
            try await publishSips()
            try await publishDay()
            // Publish notifications after the devices, whose entities show them.
            await publishMissedNotifications(atOnce: events.isHomeAssistantStarted)
            try await publishHealth()
            await publisher.waitForChanges()
        }
    }

    /// Whether the store still has the id of this connection. A purge changes it.
    private func isCurrent() throws -> Bool {
        try context.tracker().store.identity(of: identity.name)?.id == identity.id
    }

    private func subscribe(_ filters: [String], isOwnIgnored: Bool = false) async throws {
        let subject = "a subscription to \(filters[0])"
        do throws(MQTTFailure) {
            try await connection.subscribe(filters, isOwnIgnored: isOwnIgnored)
            rejections.record(subject, nil)
        } catch {
            guard error.kind == .refused, let code = error.code else { throw error }
            rejections.record(subject, MQTTDelivery.reasonText(code))
        }
    }

    private mutating func publishSips() async throws {
        while !Task.isCancelled, rejections.canRetry(topics.sip) {
            let tracker = try context.tracker()
            // After a rejection send one drink first: the broker might have accepted part of a batch.
            let limit = rejections.isRejected(topics.sip) ? 1 : Self.drinkBatch
            let due = try tracker.store.changes(for: identity.name, limit: limit)
            guard let last = due.last else { return }
            let known = await publisher.unrecordedChanges
            let unsent = due.filter { !known.contains($0) }
            let mayReadWaterline = context.sharesWaterline()
            let deliveries = try await publish(
                unsent.map {
                    let sip = SipPayload($0, now: tracker.now, mayReadWaterline: mayReadWaterline)
                    return MQTTMessage(topics.sip, try TrackerAPI.json(sip))
                })
            let answers = zip(unsent, deliveries)
            await publisher.addConfirmed(answers.filter { $1.isAccepted }.map(\.0))
            let rejected = answers.first { !$1.isAccepted }?.0.sequence
            let through = rejected.map { rejected in due.last { $0.sequence < rejected } } ?? last
            // If this write fails (full disk), `unrecordedChanges` prevents a second publication.
            if let through {
                try tracker.store.confirmChanges(of: identity.name, through: through.sequence)
                await publisher.removeConfirmed(through: through.sequence)
            }
            if rejected != nil || due.count < limit { return }
        }
    }

    private mutating func publishDay() async throws {
        let isHeartbeat = ContinuousClock.now - lastHeartbeat >= Self.heartbeat
        let isTick = isHeartbeat || ContinuousClock.now - lastTick >= Self.tick
        let status = await publisher.dependencies.service.status()
        let tracker = try context.tracker()
        let sharesWaterline = context.sharesWaterline()
        let now = StateInputs(
            version: try tracker.store.dataVersion(), service: status, sharesWaterline: sharesWaterline)
        guard isTick || now != publishedInputs || rejections.isDue(retainedTopics) else { return }
        if isTick { lastTick = .now }
        if isHeartbeat { lastHeartbeat = .now }
        let settings = try tracker.store.settings()
        var state = StatePayload(
            snapshot: try tracker.state(), service: status,
            dayStart: DayCalendar(zone: tracker.zone, boundaryHour: settings.boundaryHour).start(
                of: try tracker.today()),
            lifetimeMl: try tracker.store.lifetimeTotal(for: identity.name),
            remindersEnabled: settings.remindersEnabled,
            bottleLight: settings.bottle.light)
        let waterline = WaterlinePayload(session: state.snapshot.waterline)
        if !sharesWaterline { state.snapshot = state.snapshot.withoutWaterline }
        let hasChanged = isHeartbeat || lastState.map { !$0.hasSameContent(as: state) } ?? true
        if hasChanged { lastState = state }
        func text(_ topic: String, _ payload: some Encodable) throws -> String {
            if !hasChanged, let known = sentTexts[topic] { return known }
            return try TrackerAPI.json(payload)
        }
        let bottles = try tracker.store.bottles().filter(\.isOwn)
        let devices = try devices(bottles, sharesWaterline: sharesWaterline)
        // Publish devices before their values, and availability last.
        var all = devices.messages
        all.append((topics.state, try text(topics.state, state)))
        for bottle in bottles {
            let payload = BottlePayload(bottle, state.snapshot, status)
            all.append((topics.bottle(BottlePayload.id(of: bottle)), try TrackerAPI.json(payload)))
        }
        if sharesWaterline { all.append((topics.waterline, try text(topics.waterline, waterline))) }
        all.append((topics.availability, "online"))
        all.append((topics.bridgeInfo, try TrackerAPI.json(info(bottles, sharesWaterline))))
        try await publishRetained(all, again: isHeartbeat, devices: devices.wholeDevices, tracker.store)
        publishedInputs = now
        // Publish a device in parts after the broker has rejected its message as too long.
        if devices.wholeDevices.contains(where: rejections.isTooLong) {
            publishedInputs = nil
            try await publishDay()
        }
    }

    /// Publishes the retained messages that have changed, and deletes those that are not in the list.
    private mutating func publishRetained(
        _ all: [(topic: String, text: String)], again: Bool, devices: Set<String>, _ store: TrackerStore
    ) async throws {
        let currentTopics = Set(all.map(\.topic))
        if !currentTopics.isSubset(of: retainedTopics) {
            // Store the topics before publishing, so that a crash does not leave unknown retained messages.
            try store.recordRetained(all.map(\.topic), of: identity.name)
            retainedTopics.formUnion(currentTopics)
        }
        let unsent = all.filter {
            (sentTexts[$0.topic] != $0.text || (again && $0.topic.hasPrefix(topics.prefix + "/")))
                && rejections.canRetry($0.topic)
        }
        let messages = unsent.map { MQTTMessage($0.topic, $0.text, isRetained: true) }
        let deliveries = try await publish(messages, canSplit: devices)
        for ((topic, text), delivery) in zip(unsent, deliveries) { sentTexts[topic] = delivery.isAccepted ? text : nil }
        let stale = retainedTopics.subtracting(currentTopics)
        guard !stale.isEmpty else { return }
        try await clear(stale)
        try store.deleteRetained(stale.sorted(), of: identity.name)
        retainedTopics.subtract(stale)
        for topic in stale { sentTexts[topic] = nil }
    }

    /// The discovery messages, and the topics of those that describe a whole device.
    private func devices(_ bottles: [KnownBottle], sharesWaterline: Bool) throws -> (
        messages: [(topic: String, text: String)], wholeDevices: Set<String>
    ) {
        guard let discovery = plan.discovery else { return ([], []) }
        let day = HomeDevice.day(
            id: identity.id, version: version, topics: topics, commands: plan.acceptsCommands,
            waterline: sharesWaterline)
        let bottleDevices = bottles.map {
            HomeDevice.bottle(
                $0, id: identity.id, version: version, topics: topics, commands: plan.acceptsCommands,
                isOnly: bottles.count == 1)
        }
        var (messages, wholeDevices): ([(topic: String, text: String)], Set<String>) = ([], [])
        for device in [day] + bottleDevices {
            let topic = device.topic(discovery)
            if rejections.isTooLong(topic) {
                messages += try device.messages(discovery)
            } else {
                messages.append((topic, try TrackerAPI.json(device)))
                wholeDevices.insert(topic)
            }
        }
        return (messages, wholeDevices)
    }

    private func info(_ bottles: [KnownBottle], _ sharesWaterline: Bool) -> BridgeInfo {
        let commands = (CommandHandler.storeCommands + CommandHandler.serviceCommands).filter {
            sharesWaterline || !CommandHandler.waterline.contains($0)
        }
        return BridgeInfo(
            version: version, id: identity.id, connection: connectionID, prefix: topics.prefix,
            commands: plan.acceptsCommands ? commands.sorted() : [], discovery: plan.discovery,
            bottles: bottles.map(BottlePayload.id), sharesWaterline: sharesWaterline)
    }

    /// - Parameter atOnce: ignores the pause, because a client might have subscribed.
    private mutating func publishMissedNotifications(atOnce: Bool) async {
        if atOnce { backoff.reset() } else if pausedUntil > .now { return }
        if await publisher.notifications.deliverMissed() {
            backoff.reset()
        } else {
            pausedUntil = .now + backoff.next(jitter: 1)
        }
    }

    private mutating func publishHealth() async throws {
        let isDue = lastHealth.map { ContinuousClock.now - $0 >= Self.healthInterval } ?? true
        guard isDue || rejections.isDue([topics.bridgeState, topics.bridgeHealth]) else { return }
        let publishesOnline = lastHealth == nil || rejections.isRejected(topics.bridgeState)
        lastHealth = .now
        let health = await BridgeHealth(
            uptime: Int((ContinuousClock.now - publisher.startTime).components.seconds),
            connections: publisher.connections, published: publisher.published, received: inbox.received,
            waiting: try context.tracker().store.waitingChanges(for: identity.name))
        let state = publishesOnline ? [MQTTMessage(topics.bridgeState, #"{"state":"online"}"#)] : []
        _ = try await publish(state + [MQTTMessage(topics.bridgeHealth, try TrackerAPI.json(health))])
    }

    /// Deletes all retained messages of this store.
    private mutating func clear() async throws {
        _ = try await publish([MQTTMessage(topics.bridgeState, #"{"state":"offline"}"#)])
        try await clear(retainedTopics)
        let store = try context.tracker().store
        try store.deleteRetained(retainedTopics.sorted(), of: identity.name)
        for stale in try store.staleTopics() where stale.id == identity.id { try store.delete(stale) }
        retainedTopics = []
    }

    /// Deletes the retained messages from before a purge.
    private func clearOldIdentities() async throws {
        let store = try context.tracker().store
        for stale in try store.staleTopics() where ["", "\(plan.address)"].contains(stale.brokerAddress) {
            try await clear(Set(stale.topics).subtracting(retainedTopics))
            try store.delete(stale)
        }
    }

    private func clear(_ topics: Set<String>) async throws {
        _ = try await connection.publish(topics.sorted().map { MQTTMessage($0, [], isRetained: true) })
    }

    private func publish(_ messages: [MQTTMessage], canSplit: Set<String> = []) async throws -> [MQTTDelivery] {
        let deliveries = try await connection.publish(messages)
        for (message, delivery) in zip(messages, deliveries) {
            rejections.record(message.topic, delivery, canSplit: canSplit.contains(message.topic))
        }
        await publisher.count(published: deliveries.count { $0.isAccepted })
        return deliveries
    }
}
