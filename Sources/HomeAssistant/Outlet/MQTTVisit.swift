import Store
import TrackerCore
import TrackerService

/// One connection of an outlet: everything is said anew at its beginning, and then what changes, until it ends or the
/// settings change.
struct MQTTVisit {
    /// How often the day is told although nothing was written (tracker law B8).
    private static let tick = Duration.seconds(60)
    /// How often it is said again although it is the same: what speaks of this moment expires at the other end.
    private static let heartbeat = Duration.seconds(300)
    private static let healthEvery = Duration.seconds(600)
    private static let settingsEvery = Duration.seconds(1)
    /// So often between two beats what somebody empties is said again: two programs must not go on for ever.
    private static let mostRestored = 50

    private let owner: MQTTOutlet
    private let around: MQTTOutlet.Surroundings
    private let plan: MQTTPlan
    private let outlet: Outlet
    private let session: MQTTSession
    private let inbox: CommandInbox
    private let own: OwnTopics
    private var topics: Topics { plan.topics }

    /// What the day was worked out from.
    private struct Seen: Hashable {
        var mark: TrackerStore.ChangeMark
        var service: ServiceStatus?
        var sharesWaterline: Bool
    }

    /// What was said in this connection, by topic.
    private var said: [String: String] = [:]
    private var told: StatePayload?
    /// Topics at which the broker keeps something of ours.
    private var kept: Set<String> = []
    /// What was taken back since this began, and stands there no more.
    private var emptied: Set<String> = []
    private var seen: Seen?
    private var lastTick = ContinuousClock.now
    private var lastBeat = ContinuousClock.now
    /// What was said again since the last beat because somebody had emptied it.
    private var restored = 0
    private var lastHealth: ContinuousClock.Instant?
    private var lastSettings = ContinuousClock.now
    /// What tells this connection from others at `<p>/bridge/info`.
    private var name = ""

    /// Connects, and goes on until the settings change, the store is purged, or the task is cancelled.
    /// - Throws: why the connection could not be made, or broke.
    static func run(_ owner: MQTTOutlet, _ plan: MQTTPlan) async throws {
        let around = owner.around
        let outlet = try owner.open(around.desk())
        try MQTTOutlet.checkHome(outlet.id, around)
        let claim = try around.claim(MQTTPlan.client(outlet.id))
        defer { withExtendedLifetime(claim) {} }
        let store = try around.desk().store
        let access = try BrokerAccess(plan, keepsPassword: store.settings().service.mqttPassword == plan.password)
        try store.speak(outlet.name, at: access.text) { BrokerAccess($0)?.address == plan.address }
        let desk = CommandDesk(desk: around.desk, service: around.service, sharesWaterline: around.sharesWaterline)
        let own = OwnTopics(plan.topics, id: outlet.id) { Task { await owner.poke() } }
        let inbox = CommandInbox(plan, desk, own: own, say: around.say) {
            Task {
                await owner.poke()
                await around.wrote()
            }
        }
        let session = try MQTTSession(plan.options(id: outlet.id)) { inbox.take($0) }
        inbox.connect(session)
        let outside = Task {
            for await request in inbox.outside { inbox.answer(request.name, await desk.performOutside(request).answer) }
        }
        defer {
            owner.sink.connect(nil)
            inbox.connect(nil)
            outside.cancel()
        }
        do {
            var visit = MQTTVisit(owner, plan, outlet, session, inbox, own)
            try await withTaskCancellationHandler {
                try await visit.converse()
            } onCancel: {
                // Where something is to be taken back, that comes first.
                Task { if await !owner.isDone(with: plan) { session.hurry() } }
            }
            let isOver = try !visit.isStillOurs()
            if await owner.isDone(with: plan) || isOver {
                try await visit.takeBack()
            } else {
                session.post([
                    MQTTMessage(plan.topics.bridgeState, #"{"state":"offline"}"#),
                    MQTTMessage(plan.topics.availability, "offline", isRetained: true),
                ])
            }
        } catch {
            await session.close()
            throw error
        }
        await session.close()
    }

    /// Nothing of ours stays behind.
    private mutating func takeBack() async throws {
        let all = kept.sorted()
        own.stand([])
        try await publish(
            [MQTTMessage(topics.bridgeState, #"{"state":"offline"}"#)]
                + all.map { MQTTMessage($0, [], isRetained: true) })
        let store = try around.desk().store
        try store.forgetKept(all, of: outlet.name)
        for left in try store.leavings() where left.id == outlet.id {
            var mine = left
            // A purge may have come between the look and what was taken back by it.
            mine.topics = left.topics.filter { kept.contains($0) || emptied.contains($0) }
            try store.forget(mine)
        }
        kept = []
    }

    private init(
        _ owner: MQTTOutlet, _ plan: MQTTPlan, _ outlet: Outlet, _ session: MQTTSession, _ inbox: CommandInbox,
        _ own: OwnTopics
    ) {
        (self.owner, around, self.plan, self.outlet, self.session, self.inbox, self.own) = (
            owner, owner.around, plan, outlet, session, inbox, own
        )
    }

    private mutating func converse() async throws {
        _ = try await session.connected()
        try await session.subscribe(
            [plan.obeysCommands ? topics.everyCommand : nil, plan.discovery.map(CommandInbox.status)].compactMap(\.self)
        )
        try await session.watch(own.filters)
        owner.sink.connect(
            MQTTSink.Connection(
                session: session, topics: topics, desk: around.desk, sharesWaterline: around.sharesWaterline,
                confirmedLate: around.wrote))
        name = await owner.connected(plan)
        // That it is over is seen at once.
        Task { [session, owner] in
            _ = await session.ended()
            await owner.poke()
        }
        kept = Set(try around.desk().store.keptTopics(of: outlet.name))
        while !Task.isCancelled {
            if let failure = session.failure { throw failure }
            guard try isStillOurs() else { return }
            let isHomeBack = inbox.takeHomeIsBack()
            if isHomeBack { (said, told, seen) = ([:], nil, nil) }
            restore(own.takeEmptied())
            await owner.meet(own.stranger, at: topics)
            try await tellSips()
            try await tellDay()
            // Behind the devices, which are to hear it.
            await owner.sink.catchUp(atOnce: isHomeBack)
            try await tellHealth()
            if ContinuousClock.now - lastSettings > Self.settingsEvery {
                lastSettings = .now
                guard try MQTTOutlet.plan(around) == plan else { return }
            }
            await owner.restBetweenLooks()
        }
    }

    /// Whether the store is told as who it was when this began. After a purge it is a new one: the old one's devices
    /// go, and only an outlet that is opened anew hears of what is drunk.
    private func isStillOurs() throws -> Bool { try around.desk().store.identity(of: outlet.name)?.id == outlet.id }

    // MARK: - Sips

    private mutating func tellSips() async throws {
        while !Task.isCancelled {
            let desk = try around.desk()
            let queue = SipQueue(desk.store, of: outlet.name)
            let due = try queue.due(now: desk.now, seesWaterline: around.sharesWaterline())
            guard let last = due.last else { return }
            let known = await owner.unnoted
            try await publish(due.filter { !known.contains($0.change) }.map { MQTTMessage(topics.sip, $0.text) })
            // Only what the broker has confirmed is behind us. Where that cannot be noted, on a disk that is full, it
            // is not told again for that.
            await owner.confirmed(due.map(\.change))
            try queue.confirmed(through: last.change.sequence)
            await owner.confirmed([])
            if due.count < SipQueue.batch { return }
        }
    }

    // MARK: - The day

    private mutating func tellDay() async throws {
        let isBeat = ContinuousClock.now - lastBeat >= Self.heartbeat
        let isTick = isBeat || ContinuousClock.now - lastTick >= Self.tick
        let status = await around.service?.status()
        let desk = try around.desk()
        let sharesWaterline = around.sharesWaterline()
        let now = Seen(mark: try desk.store.changeMark(), service: status, sharesWaterline: sharesWaterline)
        guard isTick || now != seen else { return }
        if isTick { lastTick = .now }
        if isBeat { (lastBeat, restored) = (.now, 0) }
        let settings = try desk.store.settings()
        var state = StatePayload(
            snapshot: try desk.state(), service: status,
            dayStart: DayCalendar(zone: desk.zone, boundaryHour: settings.boundaryHour).start(of: try desk.today()),
            lifetimeMl: try desk.store.lifetime(for: outlet.name), remindersEnabled: settings.remindersEnabled,
            bottleLight: settings.bottle.light)
        let waterline = WaterlinePayload(session: state.snapshot.waterline)
        if !sharesWaterline { state.snapshot = state.snapshot.withoutWaterline }

        // Devices first: what stands below fills them. Whether anybody is here comes last.
        var pictures = try devices(desk, settings, sharesWaterline: sharesWaterline)
        let isNews = isBeat || told.map { !$0.says(theSameAs: state) } ?? true
        if isNews { told = state }
        func text(_ topic: String, _ payload: some Encodable) throws -> String {
            if !isNews, let known = said[topic] { return known }
            return try TrackerDesk.json(payload)
        }
        pictures.append((topics.state, try text(topics.state, state)))
        for bottle in try desk.bottles() where bottle.isOwn {
            pictures.append(
                (
                    topics.bottle(BottlePayload.id(of: bottle)),
                    try TrackerDesk.json(BottlePayload(bottle, state.snapshot, status))
                ))
        }
        if sharesWaterline { pictures.append((topics.waterline, try text(topics.waterline, waterline))) }
        pictures.append((topics.availability, "online"))
        pictures.append((topics.bridgeInfo, try TrackerDesk.json(info(desk, sharesWaterline))))
        try await keep(pictures, again: isBeat, desk.store)
        await owner.speaks(as: name)
        seen = now
    }

    /// What somebody emptied is said again at the next look, which is at once.
    private mutating func restore(_ emptied: Set<String>) {
        guard !emptied.isEmpty, restored < Self.mostRestored else { return }
        restored += emptied.count
        for topic in emptied { said[topic] = nil }
        (told, seen) = (nil, nil)
    }

    /// Brings what the broker keeps of ours into step with this: what is other is sent, what is not among it is taken
    /// back.
    private mutating func keep(_ pictures: [(topic: String, text: String)], again: Bool, _ store: TrackerStore)
        async throws
    {
        let wanted = Set(pictures.map(\.topic))
        if !wanted.isSubset(of: kept) {
            try store.noteKept(pictures.map(\.topic), of: outlet.name)
            kept.formUnion(wanted)
        }
        // Before: what is emptied while it is on its way is heard, too.
        own.stand(wanted)
        emptied.subtract(wanted)
        let fresh = pictures.filter { said[$0.topic] != $0.text || (again && $0.topic.hasPrefix(topics.prefix + "/")) }
        try await publish(fresh.map { MQTTMessage($0.topic, $0.text, isRetained: true) })
        for (topic, text) in fresh { said[topic] = text }
        let stale = kept.subtracting(wanted).sorted()
        guard !stale.isEmpty else { return }
        try await publish(stale.map { MQTTMessage($0, [], isRetained: true) })
        try store.forgetKept(stale, of: outlet.name)
        kept.subtract(stale)
        emptied.formUnion(stale)
        for topic in stale { said[topic] = nil }
    }

    private func devices(_ desk: TrackerDesk, _ settings: Settings, sharesWaterline: Bool) throws -> [(
        topic: String, text: String
    )] {
        guard let discovery = plan.discovery else { return [] }
        let bottles = try desk.bottles().filter(\.isOwn)
        let day = HomeDevice.day(
            id: outlet.id, version: around.version, topics: topics, commands: plan.obeysCommands,
            waterline: sharesWaterline)
        let others = bottles.map {
            HomeDevice.bottle(
                $0, id: outlet.id, version: around.version, topics: topics, commands: plan.obeysCommands,
                isOnly: bottles.count == 1)
        }
        return try ([day] + others).map { ($0.topic(discovery), try TrackerDesk.json($0)) }
    }

    // MARK: - The bridge

    private func info(_ desk: TrackerDesk, _ sharesWaterline: Bool) throws -> BridgeInfo {
        let commands = (CommandDesk.stored + CommandDesk.outside).filter {
            sharesWaterline || !CommandDesk.waterline.contains($0)
        }.sorted()
        return BridgeInfo(
            version: around.version, id: outlet.id, connection: name, prefix: topics.prefix,
            commands: plan.obeysCommands ? commands : [], discovery: plan.discovery,
            bottles: try desk.bottles().filter(\.isOwn).map(BottlePayload.id), sharesWaterline: sharesWaterline)
    }

    private mutating func tellHealth() async throws {
        guard lastHealth.map({ ContinuousClock.now - $0 >= Self.healthEvery }) ?? true else { return }
        let isFirst = lastHealth == nil
        lastHealth = .now
        let health = await BridgeHealth(
            uptime: Int((ContinuousClock.now - owner.began).components.seconds), connections: owner.connections,
            published: owner.published, received: inbox.received,
            waiting: try around.desk().store.waiting(for: outlet.name))
        let state = isFirst ? [MQTTMessage(topics.bridgeState, #"{"state":"online"}"#)] : []
        try await publish(state + [MQTTMessage(topics.bridgeHealth, try TrackerDesk.json(health))])
    }

    private func publish(_ messages: [MQTTMessage]) async throws {
        try await session.publish(messages)
        await owner.count(published: messages.count)
    }
}
