import Foundation
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

/// Computes a person's state once for all requests, and sends changes to all event streams (tracker spec B8).
actor StateFeed {
    /// The state as JSON, for callers with or without access to Waterline.
    struct View: Sendable {
        var bytes: ByteBuffer
        /// The event of the streams that want all keys. They share its memory.
        var frame: ByteBuffer
        /// A tag that is equal for states that differ only by the passing of time.
        var tag: String
    }

    struct Views: Sendable {
        var full: View
        /// The state for callers without access to Waterline. Its tag does not change with a session.
        var shared: View
        /// Whether clients that are not administrators may see Waterline.
        var isWaterlineShared: Bool

        func view(withWaterline: Bool) -> View { withWaterline ? full : shared }
    }

    enum Event: Sendable {
        /// The state of the day: at the start of a stream, after a change, and every minute.
        /// - Parameter id: in the first event of a stream, the ID after which notifications follow.
        case state(Views, id: Int64?)
        case notify(NotificationEvent)
        case gap(ByteBuffer)
        case session(ByteBuffer)
        /// A keep-alive.
        case ping
    }

    /// The interval of checks for writes to the store, while there are streams.
    static let checkInterval = Duration.milliseconds(100)
    /// The maximum interval between state events in seconds (tracker spec B8). It is measured by the wall clock, so a
    /// step of the clock sends the state at once.
    static let tickSeconds: Double = 60
    /// The keep-alive interval of a stream.
    static let pingEvery = Duration.seconds(15)
    /// The age of the last poll in seconds from which a new viewer triggers another poll.
    static let freshSeconds: Double = 30
    /// The maximum number of missed notifications that a client receives. Older ones are left out.
    static let replayLimit = 200
    /// The maximum number of event streams. The remaining connections are for single requests.
    static let subscriberLimit = 2000
    /// The maximum number of simultaneous event streams of one token.
    static let tokenLimit = 32
    /// The maximum number of unread events, after which the client is disconnected.
    static let queueLimit = 64

    struct Subscriber: Sendable {
        /// The ID of the client's token; `nil` for a client at the socket.
        var token: String?
        /// Whether a user has the page open and visible, so that the data must be fresh.
        var isVisible: Bool
        var showsNotifications: Bool
        /// Whether this caller has access to Waterline, evaluated for each event.
        var mayReadWaterline: @Sendable () -> Bool
        /// Disconnects a client that does not read.
        var disconnectClient: @Sendable () -> Void
        fileprivate(set) var stream: AsyncStream<Event>.Continuation?

        fileprivate func send(_ event: Event) {
            if case .dropped = stream?.yield(event) {
                stream?.finish()
                disconnectClient()
            }
        }
    }

    private let tracker: @Sendable () throws -> TrackerAPI
    private let service: ServiceClient?
    private let sharesWaterline: @Sendable () -> Bool
    /// Called when a client starts to show notifications, so that due ones are sent to it (tracker spec B8).
    private let viewerArrived: @Sendable () async -> Void
    private var subscribers: [UInt64: Subscriber] = [:]
    private var nextSubscriber: UInt64 = 0
    private var updates: Task<Void, Never>?
    /// The ID up to which all events were sent; `nil` if none were sent.
    private var sentThrough: Int64?

    /// The last computation, for which the next one waits.
    private var lastComputation: Task<Views, any Error>?
    /// The computation that has not read the store yet. Later callers share it.
    private var nextComputation: Task<Views, any Error>?
    private var cached: (version: TrackerStore.DataVersion, second: Int64, status: ServiceStatus?, views: Views)?
    /// The last state that the streams received.
    private var lastStreamed: (version: TrackerStore.DataVersion, status: ServiceStatus?, tag: String, at: Instant)?
    private var sentSession: ByteBuffer?

    init(
        tracker: @escaping @Sendable () throws -> TrackerAPI, service: ServiceClient?,
        sharesWaterline: @escaping @Sendable () -> Bool = { false },
        viewerArrived: @escaping @Sendable () async -> Void = {}
    ) {
        self.tracker = tracker
        self.service = service
        self.sharesWaterline = sharesWaterline
        self.viewerArrived = viewerArrived
    }

    var subscriberCount: Int { subscribers.count }

    /// Returns the state, and reads the store only if it has changed. The result includes every write that was
    /// committed before the call. Simultaneous callers share a computation that starts after their calls.
    func current() async throws -> Views {
        if let nextComputation { return try await nextComputation.value }
        let task = Task(executorPreference: BlockingThreads.shared) { [lastComputation] in
            _ = await lastComputation?.result
            return try await self.computeNext()
        }
        (lastComputation, nextComputation) = (task, task)
        return try await task.value
    }

    private func computeNext() async throws -> Views {
        nextComputation = nil
        return try await compute()
    }

    private func compute() async throws -> Views {
        let status = await service?.status()
        let tracker = try tracker()
        let version = try tracker.store.dataVersion()
        let second = tracker.context.now.wholeSeconds
        if let cached, cached.version == version, cached.second == second, cached.status == status {
            return cached.views
        }
        let snapshot = try tracker.state()
        let views = Views(
            full: View(snapshot, status, isWhole: true),
            shared: View(snapshot.withoutWaterline, status, isWhole: false), isWaterlineShared: sharesWaterline())
        cached = (version, second, status, views)
        return views
    }

    // MARK: - Subscribers

    /// Starts a stream of events. The first event is the state; the notifications after `lastID` follow in order. A
    /// `Gap` reports missed notifications that are no longer stored.
    func add(_ subscriber: Subscriber, after lastID: Int64?) async throws -> (id: UInt64, events: AsyncStream<Event>) {
        var subscriber = subscriber
        try checkStreamLimits(subscriber.token)
        if subscriber.isVisible { await pollIfOutdated() }
        let id = nextSubscriber
        nextSubscriber += 1
        let state = try await compute()
        // There is no suspension point until the registration, so that no event is sent twice or lost.
        try sendRecorded()
        let sent = sentThrough ?? 0
        let (missed, session) = (try lastID.map { try self.missed(after: $0, through: sent) }, try session())
        // An ID that this store has never issued is ignored.
        let receivedID = missed?.gap?.reason == .unknown ? sent : lastID ?? sent
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.queueLimit + (missed?.events.count ?? 0)))
        continuation.yield(.state(state, id: receivedID))
        if let session { continuation.yield(.session(session)) }
        if let gap = missed?.gap { continuation.yield(.gap(.json(gap))) }
        for event in missed?.events ?? [] { continuation.yield(.notify(event)) }
        subscriber.stream = continuation
        subscribers[id] = subscriber
        if subscriber.isVisible { await service?.reportViewer(.begins) }
        if updates == nil { updates = Task(executorPreference: BlockingThreads.shared) { await self.follow() } }
        if subscriber.showsNotifications { await viewerArrived() }
        return (id, stream)
    }

    /// Checks the limits of simultaneous event streams.
    /// - Throws: `HTTPProblem` if there are too many streams.
    func checkStreamLimits(_ token: String?) throws {
        guard token == nil || subscribers.values.count(where: { $0.token == token }) < Self.tokenLimit else {
            throw HTTPProblem(
                .tooManyRequests, "tooManyStreams",
                "This token has \(Self.tokenLimit) event streams already. Close one.", headers: [.retryAfter: "60"])
        }
        guard subscribers.count < Self.subscriberLimit else {
            throw HTTPProblem(
                .serviceUnavailable, "tooManyWatchers", "Too many clients read the events. Try again in a minute.",
                headers: [.retryAfter: "60"])
        }
    }

    /// Requests a poll if the data is too old for a user who opens the page.
    private func pollIfOutdated() async {
        guard let service, let now = try? tracker().now else { return }
        let age = await service.status().lastPoll?.seconds(to: now) ?? .infinity
        if age > Self.freshSeconds { await service.pollNow() }
    }

    func remove(_ id: UInt64) async {
        let subscriber = subscribers.removeValue(forKey: id)
        subscriber?.stream?.finish()
        if subscriber?.isVisible == true { await service?.reportViewer(.ends) }
        if subscribers.isEmpty {
            updates?.cancel()
            updates = nil
        }
    }

    /// Whether a client shows notifications to a user.
    var hasViewer: Bool { subscribers.values.contains { $0.showsNotifications } }

    /// Whether a client shows this notification to a user. The streams receive it after it was stored, so never one
    /// without a position, about a bottle in range.
    func shows(_ notification: TrackerNotification) -> Bool {
        notification.position > 0
            && subscribers.values.contains {
                $0.showsNotifications && (!notification.kind.isWaterline || $0.mayReadWaterline())
            }
    }

    /// Sends the notifications that were stored since the last call, in order.
    func sendRecorded() throws {
        let tracker = try tracker()
        guard let sent = sentThrough else {
            sentThrough = try tracker.store.deliveryPositions().delivered
            return
        }
        for delivered in try tracker.store.deliveries(after: sent) {
            let event = NotificationEvent(delivered.decision, now: tracker.now)
            sentThrough = event.position
            for subscriber in subscribers.values { subscriber.send(.notify(event)) }
        }
    }

    /// The notifications after `lastID` for a reconnecting client, and the gap if some are not stored.
    private func missed(after lastID: Int64, through sent: Int64) throws -> (events: [NotificationEvent], gap: Gap?) {
        let tracker = try tracker()
        let (newest, _, lastDeleted) = try tracker.store.deliveryPositions()
        // The ID was issued by another store, which this one has replaced.
        guard 0...max(newest, sent, 0) ~= lastID else { return ([], Gap(reason: .unknown, lastEventId: lastID)) }
        let all = try tracker.store.deliveries(after: lastID, through: sent).map {
            NotificationEvent($0.decision, now: tracker.now)
        }
        let isWhole = lastID >= lastDeleted && all.count <= Self.replayLimit
        return (all.suffix(Self.replayLimit), isWhole ? nil : Gap(reason: .tooFarBehind, lastEventId: lastID))
    }

    /// Sends changes while clients are connected.
    private func follow() async {
        var pinged = ContinuousClock.now
        lastStreamed = nil
        sentSession = try? session()
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.checkInterval)
            guard !Task.isCancelled else { return }
            if ContinuousClock.now - pinged >= Self.pingEvery {
                pinged = .now
                for subscriber in subscribers.values { subscriber.send(.ping) }
            }
            // An unreadable store is read again later. The streams keep the last state.
            try? await sendChanges()
        }
    }

    private func sendChanges() async throws {
        let status = await service?.status()
        let tracker = try tracker()
        let version = try tracker.store.dataVersion()
        let isTick = lastStreamed.map { abs($0.at.seconds(to: tracker.now)) >= Self.tickSeconds } ?? true
        guard isTick || version != lastStreamed?.version || status != lastStreamed?.status else { return }
        try sendRecorded()
        let views = try await current()
        if views.full.tag != lastStreamed?.tag {
            for subscriber in subscribers.values { subscriber.send(.state(views, id: nil)) }
        }
        lastStreamed = (version, status, views.full.tag, tracker.now)
        let session = try session()
        if session != sentSession {
            sentSession = session
            let bytes = session ?? ByteBuffer(string: "null")
            for subscriber in subscribers.values { subscriber.send(.session(bytes)) }
        }
    }

    private func session() throws -> ByteBuffer? { try tracker().sessionIfAny().map(ByteBuffer.json) }
}

extension StateFeed.View {
    fileprivate init(_ snapshot: TrackerSnapshot, _ status: ServiceStatus?, isWhole: Bool) {
        bytes = .json(FullState(snapshot: snapshot, service: status, waterlineShown: isWhole))
        frame = EventFrame.bytes("state", bytes)
        var hasher = Hasher()
        hasher.combine(snapshot.withoutTimes)
        hasher.combine(status)
        hasher.combine(isWhole)
        tag = "W/\"\(UInt(bitPattern: hasher.finalize()))\""
    }

    private struct FullState: Encodable {
        var snapshot: TrackerSnapshot
        var service: ServiceStatus?
        var waterlineShown: Bool

        func encode(to encoder: any Encoder) throws {
            try snapshot.encode(to: encoder)
            try encoder.encode(["service": service.map { Service(status: $0, waterlineShown: waterlineShown) }])
        }
    }

    private struct Service: Encodable {
        var status: ServiceStatus
        var waterlineShown: Bool

        func encode(to encoder: any Encoder) throws {
            try status.encode(to: encoder)
            try encoder.encode(["waterlineShown": waterlineShown])
        }
    }

    /// The JSON of the state with these keys only.
    func selecting(_ fields: [String]) -> ByteBuffer {
        let object = try? JSONSerialization.jsonObject(with: Data(bytes.readableBytesView)) as? [String: Any]
        let selected = (object ?? [:]).filter { fields.contains($0.key) }
        let data = try? JSONSerialization.data(
            withJSONObject: selected, options: [.sortedKeys, .withoutEscapingSlashes])
        return ByteBuffer(bytes: data ?? Data("{}".utf8))
    }
}
