import Utilities
import Store
import Synchronization
import TrackerCore
import TrackerService

/// Publishes a person's day at a broker for as long as a service runs, and obeys commands from there where that is
/// switched on (tracker law Section 10.5). Settings are looked at as they change.
package actor MQTTOutlet {
    /// What it is used in.
    package struct Surroundings: Sendable {
        /// A desk of the person, for one thing that is done.
        package var desk: @Sendable () throws -> TrackerDesk
        /// What a file says over the settings.
        package var overlay: @Sendable (Settings) throws -> Settings
        /// The service that polls; `nil` where none does.
        package var service: ServiceDoor?
        /// Whether Waterline is shown beyond this machine.
        package var sharesWaterline: @Sendable () -> Bool
        /// The program's version, for Home Assistant.
        package var version: String
        /// Called after a command changed something.
        package var wrote: @Sendable () async -> Void
        /// Makes sure that nobody else on this machine speaks to brokers as this client, for as long as the answer is
        /// kept.
        package var claim: @Sendable (_ client: String) throws -> (any Sendable)?
        /// From where the store is told; `nil` for one that nobody can copy.
        package var home: @Sendable () -> OutletHome?
        /// Tells whenever the store is written, by whatever program; `nil` where nothing does: then it is looked at all
        /// the time.
        package var watch: @Sendable () -> StoreWatch?
        /// Takes what a person should hear.
        package var say: @Sendable (Word) -> Void
        /// From 0 to 1.
        package var chance: @Sendable () -> Double

        package init(
            desk: @escaping @Sendable () throws -> TrackerDesk,
            overlay: @escaping @Sendable (Settings) throws -> Settings = { $0 }, service: ServiceDoor? = nil,
            sharesWaterline: @escaping @Sendable () -> Bool, version: String,
            wrote: @escaping @Sendable () async -> Void = {},
            claim: @escaping @Sendable (_ client: String) throws -> (any Sendable)? = { _ in nil },
            home: @escaping @Sendable () -> OutletHome? = { nil },
            watch: @escaping @Sendable () -> StoreWatch? = { nil },
            say: @escaping @Sendable (Word) -> Void,
            chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }
        ) {
            (self.desk, self.overlay, self.service, self.sharesWaterline) = (desk, overlay, service, sharesWaterline)
            (self.version, self.wrote, self.claim, self.home, self.watch) = (version, wrote, claim, home, watch)
            (self.say, self.chance) = (say, chance)
        }
    }

    /// What there is to say to people; each once, until it changes.
    package enum Word: Hashable, Sendable {
        case connected(String)
        case trouble(String)
        /// Somebody seems to speak to the broker under our name.
        case nameShared(String)
        /// Another store is told at the same topics.
        case prefixShared(String)
        /// The store may be known at brokers from elsewhere: a person has to say which of the two it is.
        case copied(String)
        /// The settings name no broker any more.
        case off
        /// What was published before could not be taken back.
        case stays(String)
        /// What nobody owned any more is taken back.
        case takenBack(String)
        /// Something came that is not obeyed.
        case ignored(String)
    }

    /// The outlet's name in the store.
    static let name = "mqtt"
    /// How often the store is looked at for what others wrote, where nobody tells.
    private static let lookEvery = Duration.milliseconds(150)
    /// How often it is looked whether all is as it was, where somebody tells of what is written.
    private static let lookAnyway = Duration.seconds(2)
    /// How often settings are looked at while there is no connection.
    private static let lookSlowly = Duration.seconds(1)
    /// So many drinks wait for a broker that is not named any more; it is some three years of them.
    private static let mostWaiting = 20_000
    private static let briefly = Duration.seconds(60)

    let around: Surroundings
    let sink: MQTTSink
    /// The store has had this outlet: where it has none any more, it was purged.
    private nonisolated let isKnown = Mutex(false)
    private var pause: Task<Void, Never>?
    private var isPoked = false
    private var lastTrouble: String?
    private var stranger: String?
    private var isOn = false
    private var hasLooked = false
    /// Somebody tells of what is written.
    private var isFollowing = false
    /// Connections that broke soon after they were made, one after the other.
    private var brief = 0
    var connections = 0
    var published = 0
    private(set) var unnoted: Set<DrinkChange> = []
    let began = ContinuousClock.now

    /// For a person, with the place where notifications are shown.
    package init(_ around: Surroundings, sink: MQTTSink) {
        (self.around, self.sink) = (around, sink)
    }

    /// From here on every drink is told, also if there is no connection yet: to be called before anything is stored.
    package nonisolated func prepare() {
        guard let desk = try? around.desk(), (try? Self.plan(around)) != nil else { return }
        _ = try? open(desk)
    }

    /// Goes on until its task is cancelled.
    package func run() async {
        var backoff = Backoff()
        let following = follow()
        let cleaning = Task { [around] in await BrokerCleaner(around) { await self.voice }.run() }
        defer {
            following?.cancel()
            cleaning.cancel()
        }
        while !Task.isCancelled {
            var plan: MQTTPlan?
            let (start, before) = (ContinuousClock.now, connections)
            do {
                plan = try Self.plan(around)
                guard let plan else {
                    try turnOff()
                    await rest(DayFollower.lookEvery(isTold: isFollowing))
                    continue
                }
                isOn = true
                defer { voice = .none }
                defer { if ContinuousClock.now - start > .seconds(30) { backoff.reset() } }
                try await MQTTVisit.run(self, plan)
                backoff.reset()
            } catch {
                sink.connect(nil)
                brief = connections > before && ContinuousClock.now - start < Self.briefly ? brief + 1 : 0
                trouble(error, plan, isRepeated: brief > 1)
                // Nobody was asked: a word of the person's is all that it takes.
                await wait(Self.isCopy(error) ? Self.lookAnyway : backoff.next(chance: around.chance()), while: plan)
            }
        }
    }

    /// Whether nothing of ours is to stay at this plan's broker, because the settings name another one.
    func isDone(with plan: MQTTPlan) -> Bool {
        do {
            return try Self.plan(around)?.address != plan.address
        } catch {
            return false
        }
    }

    /// Something was written: looks at once.
    package func poke() {
        isPoked = true
        pause?.cancel()
    }

    // MARK: - Parts

    /// Looks whenever the store is written, until it is cancelled.
    private func follow() -> Task<Void, Never>? {
        guard let watch = around.watch() else { return nil }
        isFollowing = true
        return Task {
            await DayFollower(writes: watch.writes) {
                await self.poke()
                return DayFollower.longestPause
            }.run()
            // It speaks for as long as it is held.
            withExtendedLifetime(watch) {}
        }
    }

    /// Waits until there may be something to say.
    func restBetweenLooks() async { await rest(isFollowing ? Self.lookAnyway : Self.lookEvery) }

    /// Who asks a broker for a store, and with which words in a file over the settings; `nil` where none is named.
    package static func check(_ store: TrackerStore, overlay: (Settings) throws -> Settings, nonce: String) async throws
        -> BrokerCheck?
    {
        guard let plan = try MQTTPlan(try overlay(store.settings()).service) else { return nil }
        return await BrokerCheck.ask(plan, for: store, nonce: nonce)
    }

    static func plan(_ around: Surroundings) throws -> MQTTPlan? {
        try MQTTPlan(try around.overlay(around.desk().store.settings()).service)
    }

    /// Also where the store was purged since: what was drunk between that and now is news, too.
    nonisolated func open(_ desk: TrackerDesk) throws -> Outlet {
        try desk.store.noteSharing(around.sharesWaterline())
        return try isKnown.withLock { isKnown in
            let outlet = try desk.store.openOutlet(Self.name, tellsAll: isKnown) { Self.newID(desk) }
            isKnown = true
            return outlet
        }
    }

    private static func newID(_ desk: TrackerDesk) -> String {
        String(desk.context.makeID().filter { $0 != "-" }.prefix(12))
    }

    // MARK: - Who the store is

    /// Under which name brokers know the store, and from which file it was told there last; `nil` where it never was.
    package static func identity(of store: TrackerStore) throws -> (client: String, path: String?)? {
        try store.identity(of: name).map { (MQTTPlan.client($0.id), $0.path) }
    }

    /// From here on the store is told from this place, as who it was or as somebody else. A service that waits for it
    /// goes on.
    /// - Parameter overlay: what a file says over the settings.
    package static func settle(
        _ desk: TrackerDesk, at home: OutletHome, asNew: Bool, overlay: (Settings) throws -> Settings = { $0 }
    ) throws {
        guard asNew else { return try desk.store.move(name, to: home) }
        // What brokers keep of the one that they know would be nobody's.
        guard try desk.store.standing(of: name, at: home) != .known else {
            throw Refusal(
                "mqttKnown",
                "This store is the one that brokers know from here: it keeps its name, and nothing was changed.")
        }
        let prefix = try overlay(desk.store.settings()).service.mqttPrefix
        // The two would overwrite each other there, and either would take back what is the other's.
        guard try !desk.store.keptByOriginal(of: name, at: home).contains(where: { $0.hasPrefix("\(prefix)/") }) else {
            throw Refusal(
                prefixTaken,
                """
                What this store was made from is published at \(prefix)/…, and so would this one be: it needs a \
                prefix of its own first. Nothing was changed.
                """,
                values: ["prefix": prefix])
        }
        try desk.store.beginAnew(name, id: newID(desk), at: home)
    }

    /// The code where two stores would be told at the same topics.
    package static let prefixTaken = "mqttPrefixTaken"

    private static func isCopy(_ error: any Error) -> Bool { (error as? any Problem)?.code == copied }

    /// What a store is refused that may be known at brokers from elsewhere.
    private static let copied = "mqttCopied"

    /// Makes sure that the store speaks as who it is: a copy would be one device with its original.
    static func checkHome(_ id: String, _ around: Surroundings) throws {
        guard let home = around.home() else { return }
        let client = MQTTPlan.client(id)
        switch try around.desk().store.standing(of: name, at: home) {
        case .known: return
        case .copy(let path):
            throw Refusal(
                copied,
                """
                This store was made from \(path) (it is a copy, or a backup), which is still there and is known at \
                brokers as \(client). Nothing is said there before somebody says which of the two it is.
                """,
                values: ["path": path, "client": client])
        case .fromElsewhere(let path):
            throw Refusal(
                copied,
                """
                This store was told to brokers as \(client) from another machine, or from another disk (\(path) \
                there), which may go on with it. Nothing is said there before somebody says whether it was moved \
                here or is a copy.
                """,
                values: ["path": path, "client": client])
        }
    }

    private func turnOff() throws {
        lastTrouble = nil
        note(nil)
        let store = try around.desk().store
        let wasOpen = try store.closeOutlet(Self.name, sparing: Self.mostWaiting)
        guard isOn || wasOpen || !hasLooked else { return }
        let wasOn = isOn
        (isOn, hasLooked) = (false, true)
        // One start without the file that names the broker must not cost what waits for it.
        if try store.isOutletOpen(Self.name) {
            around.say(
                .stays(
                    """
                    No broker is named, and \(try store.waiting(for: Self.name)) drinks that were not told yet \
                    wait for one.
                    """
                ))
        }
        if wasOn || wasOpen { around.say(.off) }
        // Whoever cleans up has it from here.
        try store.leave(Self.name)
    }

    /// - Returns: what tells this connection from others.
    func connected(_ plan: MQTTPlan) -> String {
        connections += 1
        voice = .arriving
        (lastTrouble, stranger) = (nil, nil)
        note(nil)
        around.say(.connected("\(plan)"))
        return "\(connections)-\(String(UInt32(min(1, max(0, around.chance())) * Double(UInt32.max)), radix: 36))"
    }

    /// The broker keeps what this connection says of itself.
    func speaks(as connection: String) { voice = .heard(connection) }

    /// Who speaks to the settings' broker at this moment.
    enum Voice: Hashable, Sendable {
        case none
        /// Connected, and nothing is said yet.
        case arriving
        /// By what tells this connection from others.
        case heard(String)
    }

    private(set) var voice = Voice.none

    private func trouble(_ error: any Error, _ plan: MQTTPlan?, isRepeated: Bool = false) {
        let words = MQTTAdvice.words(error, plan, isRepeated: isRepeated)
        guard words != lastTrouble, !Task.isCancelled else { return }
        lastTrouble = words
        note(words)
        around.say(
            Self.isCopy(error)
                ? .copied(words) : words.contains(MQTTAdvice.otherClient) ? .nameShared(words) : .trouble(words))
    }

    /// Another store is told where this one is, or is not any more.
    func meet(_ other: String?, at topics: Topics) {
        guard other != stranger else { return }
        stranger = other
        guard let other else { return note(nil) }
        let words =
            """
            Another store (\(MQTTPlan.client(other))) is published at \(topics.prefix)/…, too: each overwrites \
            what the other says there, and neither is right. Each needs a prefix of its own (mqtt.prefix, in the \
            file prefix).
            """
        note(words)
        around.say(.prefixShared(words))
    }

    /// Whoever looks at the day sees it, too.
    private func note(_ words: String?) {
        if let desk = try? around.desk() { try? desk.store.noteTrouble(words, of: Self.name, at: desk.now) }
    }

    /// Waits; a change of the settings ends it.
    private func wait(_ length: Duration, while plan: MQTTPlan?) async {
        let end = ContinuousClock.now + length
        while !Task.isCancelled, ContinuousClock.now < end {
            await rest(min(Self.lookSlowly, end - .now))
            guard (try? Self.plan(around)) == plan || plan == nil else { return }
        }
    }

    /// Waits, or until somebody says that something was written.
    func rest(_ length: Duration) async {
        guard !isPoked, !Task.isCancelled else {
            isPoked = false
            return
        }
        let pause = Task { _ = try? await Task.sleep(for: length) }
        self.pause = pause
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
        isPoked = false
    }

    func count(published more: Int) { published += more }

    /// What the broker has, until the store knows it.
    func confirmed(_ changes: [DrinkChange]) { unnoted = Set(changes) }
}
