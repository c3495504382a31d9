import Foundation
import Hummingbird
import NIOCore
import Store
import TrackerCore
import TrackerService

/// One person's state, worked out once however many ask, and told to everybody who watches when it changes (tracker law
/// B8).
actor StateFeed {
    /// The state as it goes over the wire.
    struct Text: Sendable {
        var bytes: ByteBuffer
        /// As they go to a caller whom Waterline is no business of.
        var shared: Shared
        /// Equal for states that say the same but for the passing of time.
        var tag: String
        /// The same as one server-sent event.
        var frame: ByteBuffer

        struct Shared: Sendable {
            var bytes: ByteBuffer
            var frame: ByteBuffer
            /// As the whole's, of what such a caller sees: not even that something happened in a session is their
            /// business.
            var tag: String
        }
    }

    enum Event: Sendable {
        /// - Parameter id: of the last notification before it, where somebody begins: who comes back hears what came
        ///   after.
        case state(Text, id: Int64?)
        case notify(Notice)
        /// Not everything that was missed is remembered.
        case gap(ByteBuffer)
        case session(ByteBuffer)
        /// Nothing happened: a sign of life.
        case ping
    }

    /// How often the store is asked whether anything was written, while somebody watches.
    static let lookEvery = Duration.milliseconds(100)
    /// How often the day is told although nothing was written (tracker law B8), seconds by the day's own clock: one
    /// that is set, or a computer that slept, is a reason to tell it at once.
    static let tickSeconds: Double = 60
    /// How often a client hears something although nothing happens.
    static let pingEvery = Duration.seconds(15)
    /// A poll that is so long ago is too old for somebody who begins to look, seconds.
    static let freshSeconds: Double = 30
    /// So many missed notifications a client that comes back is told: the newest.
    static let replayLimit = 200
    /// So many may watch one person's day: places are left for who asks once.
    static let watcherLimit = 2000
    /// Event streams of one token at once.
    static let tokenLimit = 32
    /// A client that is so many events behind does not read: it is hung up.
    static let queueLimit = 64

    private struct Watcher {
        /// The id of the client's token; `nil` for a client at the socket.
        var token: String?
        /// A person has it before their eyes.
        var looks: Bool
        var showsNotifications: Bool
        var seesWaterline: @Sendable () -> Bool
        /// It has all up to here.
        var has: Int64
        var stream: AsyncStream<Event>.Continuation
        var hangUp: @Sendable () -> Void

        func tell(_ event: Event) {
            if case .notify(let notice) = event, notice.place <= has { return }
            if case .dropped = stream.yield(event) {
                stream.finish()
                hangUp()
            }
        }
    }

    private let desk: @Sendable () throws -> TrackerDesk
    private let service: ServiceDoor?
    /// Called when somebody begins to show notifications: what is due has somebody to be shown to (tracker law B8).
    private let opened: @Sendable () async -> Void
    private var watchers: [UInt64: Watcher] = [:]
    private var nextWatcher: UInt64 = 0
    private var watching: Task<Void, Never>?
    /// All up to here was said to whoever watches; `nil`: nobody has looked yet.
    private var saidThrough: Int64?
    /// What was said, and the store may not have yet.
    private var justSaid: [Notice] = []

    /// Not begun yet: whoever asks now takes part in it.
    private var waitingLook: Task<Text, any Error>?
    private var lastLook: Task<Text, any Error>?
    private var known: (mark: TrackerStore.ChangeMark, second: Int64, status: ServiceStatus?, text: Text)?
    private var told: Said?
    /// The same for who may not see Waterline.
    private var toldShared: Said?
    /// What those who watch were told last.
    private var followed: (mark: TrackerStore.ChangeMark, status: ServiceStatus?, tag: String, at: Instant)?
    private var toldSession: ByteBuffer?
    private var tags: (all: UInt64, shared: UInt64) = (0, 0)
    /// Milliseconds since 1970, of a clock that may be anywhere.
    private let born = UInt64(min(max(0, Date().timeIntervalSince1970 * 1000), 1e15))

    init(
        desk: @escaping @Sendable () throws -> TrackerDesk, service: ServiceDoor?,
        opened: @escaping @Sendable () async -> Void = {}
    ) {
        self.desk = desk
        self.service = service
        self.opened = opened
    }

    /// So many watch right now.
    var watcherCount: Int { watchers.count }

    /// The state of this moment. Who asks while a look is under way gets the one after it, together with all others who
    /// do: it holds whatever was written before the question, and a crowd costs two looks.
    func current() async throws -> Text {
        if let waitingLook { return try await waitingLook.value }
        let before = lastLook
        let next = Task(executorPreference: BlockingThreads.shared) { try await self.look(after: before) }
        (waitingLook, lastLook) = (next, next)
        return try await next.value
    }

    private func look(after before: Task<Text, any Error>?) async throws -> Text {
        _ = await before?.result
        waitingLook = nil
        return try await look()
    }

    private func look() async throws -> Text {
        let status = await service?.status()
        let desk = try desk()
        let mark = try desk.store.changeMark()
        let second = desk.context.now.wholeSeconds
        if let known, known.mark == mark, known.second == second, known.status == status { return known.text }
        let snapshot = try desk.state()
        let (all, shared) = (
            Said(snapshot: snapshot, status: status), Said(snapshot: snapshot.withoutWaterline, status: status)
        )
        let isNews = (all: !all.says(theSameAs: told), shared: !shared.says(theSameAs: toldShared))
        // A tag stands for what was said under it.
        if isNews.all { (told, tags.all) = (all, tags.all + 1) }
        if isNews.shared { (toldShared, tags.shared) = (shared, tags.shared + 1) }
        let text = Text(all, tag: "W/\"\(born)-\(tags.all)\"", shared: shared, tag: "W/\"\(born)-s\(tags.shared)\"")
        known = (mark, second, status, text)
        return text
    }

    // MARK: - Watching

    /// Everything that happens from now on, beginning with the state; what was told after `lastID` comes before it, in
    /// order, and where not all of that is remembered, that is said.
    /// - Parameters:
    ///   - seesWaterline: whether Waterline is this caller's business, asked anew each time.
    ///   - looks: a person has it before their eyes, so that it is to be fresh.
    ///   - hangUp: ends the connection of a client that does not read.
    func watch(
        after lastID: Int64?, token: String?, showsNotifications: Bool, seesWaterline: @escaping @Sendable () -> Bool,
        looks: Bool,
        hangUp: @escaping @Sendable () -> Void
    ) async throws -> (id: UInt64, events: AsyncStream<Event>) {
        try checkPlace(token)
        if looks { await wakeService() }
        // Whoever opens the page sees what there is: nothing is unread any more.
        if showsNotifications { try? desk().openNotifications() }
        let id = nextWatcher
        nextWatcher += 1
        let state = try await current()
        // From here to where it is among the watchers nobody else has a turn: nothing is told twice, and nothing falls
        // in between.
        try sayRecorded()
        let said = saidThrough ?? 0
        let (missed, session) = (try lastID.map { try self.missed(after: $0, through: said) }, try session())
        // An id that this store has never given means nothing here.
        let known = missed?.gap?.reason == .unknown ? said : lastID ?? said
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.queueLimit + (missed?.notices.count ?? 0)))
        continuation.yield(.state(state, id: known))
        if let session { continuation.yield(.session(session)) }
        if let gap = missed?.gap { continuation.yield(.gap(Wire.json(gap))) }
        for notice in missed?.notices ?? [] { continuation.yield(.notify(notice)) }
        watchers[id] = Watcher(
            token: token, looks: looks, showsNotifications: showsNotifications, seesWaterline: seesWaterline,
            has: max(known, said), stream: continuation, hangUp: hangUp)
        if looks { await service?.look(.begins) }
        if watching == nil { watching = Task { await self.follow() } }
        if showsNotifications { await opened() }
        return (id, stream)
    }

    /// - Throws: `HTTPProblem` where too many watch already.
    func checkPlace(_ token: String?) throws {
        guard token == nil || watchers.values.count(where: { $0.token == token }) < Self.tokenLimit else {
            throw HTTPProblem(
                .tooManyRequests, "tooManyStreams",
                "This token has \(Self.tokenLimit) event streams already. Close one.",
                headers: [.retryAfter: "60"])
        }
        guard watchers.count < Self.watcherLimit else {
            throw HTTPProblem(
                .serviceUnavailable, "tooManyWatchers", "Too many follow the events already. Try again in a minute.",
                headers: [.retryAfter: "60"])
        }
    }

    /// Somebody begins to look: what is older than this is asked for again.
    private func wakeService() async {
        guard let service, let now = try? desk().now else { return }
        let age = await service.status().lastPoll?.seconds(to: now) ?? .infinity
        if age > Self.freshSeconds { await service.pollNow() }
    }

    func leave(_ id: UInt64) async {
        let watcher = watchers.removeValue(forKey: id)
        watcher?.stream.finish()
        if watcher?.looks == true { await service?.look(.ends) }
        if watchers.isEmpty {
            watching?.cancel()
            watching = nil
        }
    }

    /// Whether anybody who watches shows notifications to a person.
    var isShown: Bool { watchers.values.contains { $0.showsNotifications } }

    /// Says it to everybody, where anybody would show it. What nobody shows is said once others have told it.
    /// - Returns: whether it was shown.
    func show(_ notification: TrackerNotification) -> Bool {
        guard (try? sayRecorded()) != nil, let now = try? desk().now else { return false }
        let notice = Notice(notification, now: now)
        // Who may not see Waterline is sent nothing.
        guard watchers.values.contains(where: { $0.showsNotifications && (!notice.isWaterline || $0.seesWaterline()) })
        else { return false }
        say(notice)
        return true
    }

    /// Says what was told by others, in the order of all that is told.
    func sayRecorded() throws {
        let store = try desk().store
        guard let said = saidThrough else {
            saidThrough = try store.told(after: 0).last?.place ?? 0
            return
        }
        let told = try store.told(after: said)
        guard !told.isEmpty else { return }
        let now = try desk().now
        for one in told { say(Notice(one.decision, now: now)) }
    }

    private func say(_ notice: Notice) {
        guard notice.place > saidThrough ?? 0 else { return }
        saidThrough = notice.place
        justSaid.append(notice)
        if justSaid.count > Self.queueLimit { justSaid.removeFirst() }
        for watcher in watchers.values { watcher.tell(.notify(notice)) }
    }

    /// What a client missed that has everything up to `lastID`, and what is not remembered of it.
    private func missed(after lastID: Int64, through said: Int64) throws -> (notices: [Notice], gap: Gap?) {
        let desk = try desk()
        let (newest, forgotten) = try desk.store.toldPlaces()
        // One that was never given: of a store that stood in this one's place.
        guard 0...max(newest, said, 0) ~= lastID else { return ([], Gap(reason: .unknown, lastEventId: lastID)) }
        let recorded = try desk.store.told(after: lastID, through: said).map { Notice($0.decision, now: desk.now) }
        let known = Set(recorded.map(\.place))
        let all = (recorded + justSaid.filter { $0.place > lastID && !known.contains($0.place) }).sorted {
            $0.place < $1.place
        }
        let isWhole = lastID >= forgotten && all.count <= Self.replayLimit
        return (all.suffix(Self.replayLimit), isWhole ? nil : Gap(reason: .tooFarBehind, lastEventId: lastID))
    }

    /// Tells what changed, as long as anybody watches.
    private func follow() async {
        var pinged = ContinuousClock.now
        followed = nil
        toldSession = try? session()
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.lookEvery)
            guard !Task.isCancelled else { return }
            if ContinuousClock.now - pinged >= Self.pingEvery {
                pinged = .now
                for watcher in watchers.values { watcher.tell(.ping) }
            }
            // A store that cannot be read right now is looked at again; who watches keeps what was said.
            try? await tellIfChanged()
        }
    }

    private func tellIfChanged() async throws {
        let status = await service?.status()
        let desk = try desk()
        let mark = try desk.store.changeMark()
        let isTick = followed.map { abs($0.at.seconds(to: desk.now)) >= Self.tickSeconds } ?? true
        guard isTick || mark != followed?.mark || status != followed?.status else { return }
        try sayRecorded()
        let text = try await current()
        if text.tag != followed?.tag {
            for watcher in watchers.values { watcher.tell(.state(text, id: nil)) }
        }
        followed = (mark, status, text.tag, desk.now)
        let session = try session()
        if session != toldSession {
            toldSession = session
            let bytes = session ?? ByteBuffer(string: "null")
            for watcher in watchers.values { watcher.tell(.session(bytes)) }
        }
    }

    /// The session that runs or ran last; `nil` where there was none.
    private func session() throws -> ByteBuffer? { try desk().sessionIfAny().map(Wire.json) }
}

extension StateFeed {
    /// What a state says.
    fileprivate struct Said {
        var snapshot: TrackerSnapshot
        var status: ServiceStatus?

        func says(theSameAs other: Said?) -> Bool {
            other.map { $0.snapshot.says(theSameAs: snapshot) && $0.status == status } ?? false
        }
    }
}

extension StateFeed.Text {
    fileprivate init(_ all: StateFeed.Said, tag: String, shared: StateFeed.Said, tag sharedTag: String) {
        self.tag = tag
        bytes = Wire.json(Whole(snapshot: all.snapshot, service: all.status, waterlineShown: true))
        frame = EventFrame.bytes("state", bytes)
        let sharedBytes = Wire.json(Whole(snapshot: shared.snapshot, service: shared.status, waterlineShown: false))
        self.shared = Shared(bytes: sharedBytes, frame: EventFrame.bytes("state", sharedBytes), tag: sharedTag)
    }

    /// The state with what the service adds to it.
    private struct Whole: Encodable {
        var snapshot: TrackerSnapshot
        var service: ServiceStatus?
        var waterlineShown: Bool

        private enum CodingKeys: String, CodingKey { case service }
        private enum ServiceKeys: String, CodingKey { case waterlineShown }

        func encode(to encoder: any Encoder) throws {
            try snapshot.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            guard let service else { return try container.encodeNil(forKey: .service) }
            let inner = container.superEncoder(forKey: .service)
            try service.encode(to: inner)
            var more = inner.container(keyedBy: ServiceKeys.self)
            try more.encode(waterlineShown, forKey: .waterlineShown)
        }
    }

    func bytes(withWaterline: Bool) -> ByteBuffer { withWaterline ? bytes : shared.bytes }

    func tag(withWaterline: Bool) -> String { withWaterline ? tag : shared.tag }

    func frame(withWaterline: Bool) -> ByteBuffer { withWaterline ? frame : shared.frame }

    /// The state with these keys only.
    func picked(_ fields: [String], withWaterline: Bool) -> ByteBuffer {
        let whole = Data(bytes(withWaterline: withWaterline).readableBytesView)
        guard let object = try? JSONSerialization.jsonObject(with: whole) as? [String: Any] else {
            return ByteBuffer(string: "{}")
        }
        let wanted = object.filter { fields.contains($0.key) }
        let data =
            (try? JSONSerialization.data(withJSONObject: wanted, options: [.sortedKeys, .withoutEscapingSlashes]))
            ?? Data("{}".utf8)
        return ByteBuffer(bytes: data)
    }
}
