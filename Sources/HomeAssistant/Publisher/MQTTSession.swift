import Store
import TrackerCore
import TrackerService

/// One connection of the publisher. Publishes everything at its start, then changes, until the settings change.
struct MQTTSession {
    /// The maximum interval between evaluations of the state (tracker spec B8).
    private static let tick = Duration.seconds(60)
    /// The maximum interval between publications of the state, because values expire in Home Assistant.
    private static let heartbeat = Duration.seconds(300)
    private static let healthInterval = Duration.seconds(600)
    private static let settingsInterval = Duration.seconds(1)
    /// The maximum number of drinks per publication.
    private static let batch = 200

    private let owner: MQTTPublisher
    private let plan: MQTTPlan
    private let outlet: Publisher
    private let connection: MQTTConnection
    private let inbox: CommandInbox
    private let name: String

    /// The values from which the state was computed.
    private struct Basis: Hashable {
        var mark: TrackerStore.ChangeMark
        var service: ServiceStatus?
        var sharesWaterline: Bool
    }

    /// The retained texts by topic that the broker has accepted in this connection.
    private var sentTexts: [String: String] = [:]
    private var lastState: StatePayload?
    /// The topics with a retained message of this store.
    private var kept: Set<String>
    private var basis: Basis?
    private var lastTick = ContinuousClock.now
    private var lastHeartbeat = ContinuousClock.now
    private var lastHealth: ContinuousClock.Instant?
    private var lastSettings = ContinuousClock.now

    private var topics: Topics { plan.topics }
    private var around: MQTTPublisher.Dependencies { owner.around }
    private var denials: Denials { owner.denials }

    /// Connects, and publishes until the settings change, the store is purged, or the task is cancelled.
    /// - Throws: the reason why the connection failed or ended.
    static func run(_ owner: MQTTPublisher, _ plan: MQTTPlan) async throws {
        let around = owner.around
        let outlet = try owner.open(around.tracker())
        try owner.checkHome(outlet.id)
        let claim = try around.claim(MQTTPlan.client(outlet.id))
        defer { withExtendedLifetime(claim) {} }
        let store = try around.tracker().store
        try store.speak(outlet.name, at: "\(plan.address)") { MQTTPublisher.isPlace($0, plan.address) }
        await owner.reportStaleTopics(except: plan)
        let handler = CommandHandler(
            tracker: around.tracker, service: around.service, sharesWaterline: around.sharesWaterline)
        let inbox = CommandInbox(plan, handler, owner.denials, id: outlet.id, say: around.say) {
            Task {
                await owner.poke()
                await around.wrote()
            }
        }
        let outside = Task {
            for await request in inbox.outside { inbox.answer(request.name, await handler.performOutside(request)) }
        }
        defer {
            owner.channel.connect(nil)
            inbox.connect(nil)
            outside.cancel()
        }
        // The first message can arrive with CONNACK.
        let connection = try await MQTTConnection.open(
            plan.options(id: outlet.id), made: { inbox.connect($0) }, receive: { try inbox.take($0) })
        do {
            owner.channel.connect(
                MQTTChannel.Link(
                    connection: connection, topics: plan.topics, denials: owner.denials, around: around))
            let name = await owner.connected(plan, connection)
            var session = MQTTSession(
                owner, plan, outlet, connection, inbox, name, kept: try store.keptTopics(of: outlet.name))
            let offline = [
                MQTTMessage(plan.topics.bridgeState, #"{"state":"offline"}"#),
                MQTTMessage(plan.topics.availability, "offline", isRetained: true),
            ]
            try await withTaskCancellationHandler {
                try await session.publishUntilTheEnd()
            } onCancel: {
                // Post this at once: commands that wait at the broker are for the next connection.
                connection.post(offline)
                connection.disconnect()
            }
            if try owner.isDone(with: plan) || !session.isStillOurs() {
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

    private init(
        _ owner: MQTTPublisher, _ plan: MQTTPlan, _ outlet: Publisher, _ connection: MQTTConnection,
        _ inbox: CommandInbox,
        _ name: String, kept: [String]
    ) {
        (self.owner, self.plan, self.outlet, self.connection, self.inbox) = (owner, plan, outlet, connection, inbox)
        (self.name, self.kept) = (name, Set(kept))
    }

    private mutating func publishUntilTheEnd() async throws {
        if plan.obeysCommands { try await subscribe([topics.everyCommand]) }
        if let discovery = plan.discovery { try await subscribe([CommandInbox.status(discovery)]) }
        try await subscribe(PrefixConflict.filters(topics), isOwnIgnored: true)
        Task { [connection, owner] in
            _ = await connection.ended()
            await owner.poke()
        }
        try await clearOldIdentities()
        while !Task.isCancelled {
            if let failure = connection.failure { throw failure }
            guard try isStillOurs() else { return }
            let news = inbox.takeNews()
            if news.isDisturbed { (sentTexts, lastState, basis) = ([:], nil, nil) }
            await owner.noteOtherStore(inbox.otherStore, at: topics)
            try await publishSips()
            try await publishDay()
            // Publish notifications after the devices, whose entities show them.
            await owner.channel.catchUp(atOnce: news.isHomeBack)
            try await publishHealth()
            if ContinuousClock.now - lastSettings > Self.settingsInterval {
                lastSettings = .now
                guard try owner.plan() == plan else { return }
            }
            await owner.waitForChanges()
        }
    }

    /// Whether the store still has the id of this connection. A purge changes it.
    private func isStillOurs() throws -> Bool { try around.tracker().store.identity(of: outlet.name)?.id == outlet.id }

    private func subscribe(_ filters: [String], isOwnIgnored: Bool = false) async throws {
        let what = "a subscription to \(filters[0])"
        do throws(MQTTFailure) {
            try await connection.subscribe(filters, isOwnIgnored: isOwnIgnored)
            denials.note(what, nil)
        } catch {
            guard error.kind == .refused, let code = error.code else { throw error }
            denials.note(what, MQTTDelivery.words(code))
        }
    }

    // MARK: - Drinks

    private mutating func publishSips() async throws {
        while !Task.isCancelled, denials.mayTry(topics.sip) {
            let tracker = try around.tracker()
            // After a rejection send one drink first: the broker might have accepted part of a batch.
            let limit = denials.isDenied(topics.sip) ? 1 : Self.batch
            let due = try tracker.store.changes(for: outlet.name, limit: limit)
            guard let last = due.last else { return }
            let known = await owner.unnoted
            let fresh = due.filter { !known.contains($0) }
            let mayReadWaterline = around.sharesWaterline()
            let deliveries = try await publish(
                fresh.map {
                    let sip = SipPayload($0, now: tracker.now, mayReadWaterline: mayReadWaterline)
                    return MQTTMessage(topics.sip, try TrackerAPI.json(sip))
                })
            let answers = zip(fresh, deliveries)
            await owner.noteTaken(answers.filter { $1.isTaken }.map(\.0))
            let denied = answers.first { !$1.isTaken }?.0.sequence
            let through = denied.map { denied in due.last { $0.sequence < denied } } ?? last
            // If this write fails (full disk), the drinks are not published again.
            if let through {
                try tracker.store.delivered(outlet.name, through: through.sequence)
                await owner.forgetTaken(through: through.sequence)
            }
            if denied != nil || due.count < limit { return }
        }
    }

    // MARK: - Retained messages

    private mutating func publishDay() async throws {
        let isHeartbeat = ContinuousClock.now - lastHeartbeat >= Self.heartbeat
        let isTick = isHeartbeat || ContinuousClock.now - lastTick >= Self.tick
        let status = await around.service?.status()
        let tracker = try around.tracker()
        let sharesWaterline = around.sharesWaterline()
        let now = Basis(mark: try tracker.store.changeMark(), service: status, sharesWaterline: sharesWaterline)
        guard isTick || now != basis || denials.isDue(kept) else { return }
        if isTick { lastTick = .now }
        if isHeartbeat { lastHeartbeat = .now }
        let settings = try tracker.store.settings()
        var state = StatePayload(
            snapshot: try tracker.state(), service: status,
            dayStart: DayCalendar(zone: tracker.zone, boundaryHour: settings.boundaryHour).start(
                of: try tracker.today()),
            lifetimeMl: try tracker.store.lifetime(for: outlet.name), remindersEnabled: settings.remindersEnabled,
            bottleLight: settings.bottle.light)
        let waterline = WaterlinePayload(session: state.snapshot.waterline)
        if !sharesWaterline { state.snapshot = state.snapshot.withoutWaterline }
        let isNews = isHeartbeat || lastState.map { !$0.hasSameContent(as: state) } ?? true
        if isNews { lastState = state }
        func text(_ topic: String, _ payload: some Encodable) throws -> String {
            if !isNews, let known = sentTexts[topic] { return known }
            return try TrackerAPI.json(payload)
        }
        let bottles = try tracker.bottles().filter(\.isOwn)
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
        try await keep(all, again: isHeartbeat, devices: devices.whole, tracker.store)
        basis = now
        // Split a device's message that was too long.
        if devices.whole.contains(where: denials.isTooLong) {
            basis = nil
            try await publishDay()
        }
    }

    /// Publishes changed messages, and deletes others.
    private mutating func keep(
        _ all: [(topic: String, text: String)], again: Bool, devices: Set<String>, _ store: TrackerStore
    ) async throws {
        let wanted = Set(all.map(\.topic))
        if !wanted.isSubset(of: kept) {
            // Store the topics before publishing, so that a crash does not leave unknown retained messages.
            try store.noteKept(all.map(\.topic), of: outlet.name)
            kept.formUnion(wanted)
        }
        let fresh = all.filter {
            (sentTexts[$0.topic] != $0.text || (again && $0.topic.hasPrefix(topics.prefix + "/")))
                && denials.mayTry($0.topic)
        }
        let messages = fresh.map { MQTTMessage($0.topic, $0.text, isRetained: true) }
        let deliveries = try await publish(messages, canSplit: devices)
        for ((topic, text), delivery) in zip(fresh, deliveries) { sentTexts[topic] = delivery.isTaken ? text : nil }
        let stale = kept.subtracting(wanted)
        guard !stale.isEmpty else { return }
        try await clear(stale)
        try store.forgetKept(stale.sorted(), of: outlet.name)
        kept.subtract(stale)
        for topic in stale { sentTexts[topic] = nil }
    }

    /// The discovery messages, and the topics of those for whole devices.
    private func devices(_ bottles: [BottleReport], sharesWaterline: Bool) throws -> (
        messages: [(topic: String, text: String)], whole: Set<String>
    ) {
        guard let discovery = plan.discovery else { return ([], []) }
        let day = HomeDevice.day(
            id: outlet.id, version: around.version, topics: topics, commands: plan.obeysCommands,
            waterline: sharesWaterline)
        let others = bottles.map {
            HomeDevice.bottle(
                $0, id: outlet.id, version: around.version, topics: topics, commands: plan.obeysCommands,
                isOnly: bottles.count == 1)
        }
        var (messages, whole): ([(topic: String, text: String)], Set<String>) = ([], [])
        for device in [day] + others {
            let topic = device.topic(discovery)
            if denials.isTooLong(topic) {
                messages += try device.messages(discovery)
            } else {
                messages.append((topic, try TrackerAPI.json(device)))
                whole.insert(topic)
            }
        }
        return (messages, whole)
    }

    private func info(_ bottles: [BottleReport], _ sharesWaterline: Bool) -> BridgeInfo {
        let commands = (CommandHandler.stored + CommandHandler.outside).filter {
            sharesWaterline || !CommandHandler.waterline.contains($0)
        }
        return BridgeInfo(
            version: around.version, id: outlet.id, connection: name, prefix: topics.prefix,
            commands: plan.obeysCommands ? commands.sorted() : [], discovery: plan.discovery,
            bottles: bottles.map(BottlePayload.id), sharesWaterline: sharesWaterline)
    }

    private mutating func publishHealth() async throws {
        let isDue = lastHealth.map { ContinuousClock.now - $0 >= Self.healthInterval } ?? true
        guard isDue || denials.isDue([topics.bridgeState, topics.bridgeHealth]) else { return }
        let saysOnline = lastHealth == nil || denials.isDenied(topics.bridgeState)
        lastHealth = .now
        let health = await BridgeHealth(
            uptime: Int((ContinuousClock.now - owner.began).components.seconds), connections: owner.connections,
            published: owner.published, received: inbox.received,
            waiting: try around.tracker().store.waiting(for: outlet.name))
        let state = saysOnline ? [MQTTMessage(topics.bridgeState, #"{"state":"online"}"#)] : []
        _ = try await publish(state + [MQTTMessage(topics.bridgeHealth, try TrackerAPI.json(health))])
    }

    // MARK: - Clearing

    /// Deletes all retained messages of this store.
    private mutating func clear() async throws {
        _ = try await publish([MQTTMessage(topics.bridgeState, #"{"state":"offline"}"#)])
        try await clear(kept)
        let store = try around.tracker().store
        try store.forgetKept(kept.sorted(), of: outlet.name)
        for left in try store.leavings() where left.id == outlet.id { try store.forget(left) }
        kept = []
    }

    /// Deletes the retained messages from before a purge.
    private func clearOldIdentities() async throws {
        let store = try around.tracker().store
        for left in try store.leavings() where MQTTPublisher.isPlace(left.place, plan.address) {
            try await clear(Set(left.topics).subtracting(kept))
            try store.forget(left)
        }
    }

    private func clear(_ topics: Set<String>) async throws {
        _ = try await connection.publish(topics.sorted().map { MQTTMessage($0, [], isRetained: true) })
    }

    private func publish(_ messages: [MQTTMessage], canSplit: Set<String> = []) async throws -> [MQTTDelivery] {
        let deliveries = try await connection.publish(messages)
        for (message, delivery) in zip(messages, deliveries) {
            denials.note(message.topic, delivery, canSplit: canSplit.contains(message.topic))
        }
        await owner.count(published: deliveries.count { $0.isTaken })
        return deliveries
    }
}
