import DBus
import TrackerCore

/// The desktop of the session as a place where notifications are shown (tracker law C): `org.freedesktop.Notifications`
/// on the session's bus.
///
/// Whoever asks waits for nobody who is not there: without a bus, and without a server, the answer is no, at once. A
/// server that does not answer is left alone for a while, longer each time, and is asked at once when another takes the
/// name.
package actor DesktopNotifications: NotificationSink {
    static let service = "org.freedesktop.Notifications"
    static let path = "/org/freedesktop/Notifications"
    /// How many servers are asked, one after the other, while the name goes from hand to hand.
    private static let questions = 4

    /// What a program wants to hear of it.
    package struct Outlets: Sendable {
        /// A line for the log: each presentation and each press, with its identifier.
        package var log: @Sendable (String) -> Void = { _ in }
        /// What goes wrong, once until it changes.
        package var trouble: @Sendable (String) -> Void = { _ in }
        /// A button was pressed. Without it no buttons are shown.
        package var pressed: (@Sendable (DesktopPress) async -> Void)?
        /// A server has come: what nobody could be shown may be shown now.
        package var appeared: (@Sendable () async -> Void)?

        /// That throw everything away.
        package init() {}
    }

    /// Time limits.
    struct Limits: Sendable {
        /// For all of a presentation, as whoever delivers sees it.
        var whole = Duration.seconds(10)
        /// For the first answer of a server; it may have to be started first.
        var start = Duration.seconds(4)
        /// For every other answer.
        var answer = Duration.seconds(4)
        /// What comes so late is still heard: a repetition takes the place of what is shown by then.
        var lateAnswer = Duration.seconds(60)
        /// For which a server that is not there, or does not answer, is left alone: twice as long each time.
        var firstPause = Duration.seconds(2)
        var longestPause = Duration.seconds(300)
    }

    /// A server that has answered.
    struct Server: Sendable {
        let connection: DBusConnection
        /// Bus and unique name: the numbers of one mean nothing to another.
        let owner: String
        let capabilities: Set<String>
        /// How often the name had changed hands when this one had it.
        let change: UInt64
    }

    /// Always `desktop`.
    package nonisolated let name = "desktop"
    /// For all servers together.
    package nonisolated var limit: Duration { limits.whole }
    nonisolated let executor = QueueExecutor("desktop")
    /// The queue of the bus, for the language.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let bus: @Sendable () -> DBusConnection.Bus?
    let memory: NoticeMemory
    nonisolated let limits: Limits
    var outlets = Outlets()

    var connection: (open: DBusConnection, id: String)?
    var server: Server?
    private var opening: Task<Server?, Never>?
    /// How often the server's name has changed hands, as far as was heard.
    private var change: UInt64 = 0
    private var pause: Duration?
    private var restsUntil: ContinuousClock.Instant?
    private var lastTrouble: String?
    private var isStopped = false
    /// Calls of `Notify` that are waited for.
    var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
    var lastCall: UInt64 = 0
    /// With what a window may come to the front, by the number of the notification that was pressed.
    var tokens: [UInt32: String] = [:]

    /// - Parameter bus: asked each time that there is no connection.
    package init(
        bus: @escaping @Sendable () -> DBusConnection.Bus? = { SessionBus.find() },
        memory: NoticeMemory = NoticeMemory()
    ) {
        self.init(bus: bus, memory: memory, limits: Limits())
    }

    init(bus: @escaping @Sendable () -> DBusConnection.Bus?, memory: NoticeMemory, limits: Limits) {
        (self.bus, self.memory, self.limits) = (bus, memory, limits)
    }

    /// From now on these hear what happens. Before the first question, so that nothing is missed.
    package func attend(_ outlets: Outlets) { self.outlets = outlets }

    /// Lets go of the bus. What is shown stays.
    package func stop() async {
        isStopped = true
        server = nil
        // Who listens holds us in turn.
        outlets = Outlets()
        await connection?.open.close()
        connection = nil
    }

    /// Whether there is a server that answers.
    package func canShow() async -> Bool { await readyServer() != nil }

    // MARK: - To a server, and back

    /// The server that is there; asked for its capabilities once.
    func readyServer() async -> Server? {
        if let server { return server }
        if let opening { return await opening.value }
        guard !isStopped, restsUntil.map({ $0 <= .now }) ?? true else { return nil }
        let task = Task { await self.open() }
        opening = task
        defer { opening = nil }
        return await task.value
    }

    private func open() async -> Server? {
        guard connection != nil || bus() != nil else { return nil }
        do throws(DBusFailure) {
            let (connection, id) = try await connected()
            let server = try await asked(connection, id)
            memory.keepOnly(owner: server.owner)
            self.server = server
            wake()
            lastTrouble = nil
            return server
        } catch {
            rest(error)
            return nil
        }
    }

    /// What the name's owner can do. The signals come first, so that whoever takes the name meanwhile is not missed:
    /// then that one is asked, and what the last one answered, or could not any more, means nothing.
    private func asked(_ connection: DBusConnection, _ id: String) async throws(DBusFailure) -> Server {
        for _ in 1..<Self.questions {
            let before = change
            do throws(DBusFailure) {
                return try await asked(connection, id, before)
            } catch {
                guard change != before else { throw error }
            }
        }
        return try await asked(connection, id, change)
    }

    private func asked(_ connection: DBusConnection, _ id: String, _ before: UInt64) async throws(DBusFailure) -> Server
    {
        let answer = try await connection.call(
            DBusCall(Self.service, Self.path, Self.service, "GetCapabilities"), limit: limits.start)
        guard let owner = try await connection.watchOwner(of: Self.service), let capabilities = answer.first?.texts,
            change == before
        else {
            throw DBusFailure(DBusFailure.failed, "it has gone again")
        }
        return Server(connection: connection, owner: "\(id)/\(owner)", capabilities: Set(capabilities), change: before)
    }

    /// Whoever is there may be asked.
    func wake() { (pause, restsUntil) = (nil, nil) }

    /// Nobody is asked for a while; where that server has gone, this says nothing of the next.
    func rest(_ failure: DBusFailure, of asked: Server) {
        if asked.change == change { rest(failure) }
    }

    private func rest(_ failure: DBusFailure) {
        server = nil
        let pause = min(limits.longestPause, self.pause.map { $0 * 2 } ?? limits.firstPause)
        (self.pause, restsUntil) = (pause, .now + pause)
        // That there is none is no trouble of anybody's: the state says it.
        guard failure.name != DBusFailure.serviceUnknown, failure.name != "org.freedesktop.DBus.Error.NameHasNoOwner",
            lastTrouble != failure.name
        else { return }
        lastTrouble = failure.name
        outlets.trouble(
            """
            Notifications on the desktop: \
            \(failure.name == DBusFailure.noReply ? "their server does not answer" : failure.description). They \
            are tried again.
            """
        )
    }

    private func connected() async throws(DBusFailure) -> (open: DBusConnection, id: String) {
        if let connection { return connection }
        guard let bus = bus() else { throw DBusFailure(DBusFailure.serviceUnknown, "there is no session bus") }
        let made = try await DBusConnection.open(bus, on: executor, limit: limits.start)
        do throws(DBusFailure) {
            let id = try await made.busID()
            _ = try await made.watchName(Self.service) { [weak self] owner in
                self?.assumeIsolated { $0.hears(owner: owner) }
            }
            _ = try await made.subscribe(DBusMatch(sender: Self.service, path: Self.path, interface: Self.service)) {
                [weak self] signal in
                self?.assumeIsolated { $0.hears(signal) }
            }
            connection = (made, id)
            await made.whenClosed { [weak self] in self?.assumeIsolated { $0.lostBus(made) } }
            return (made, id)
        } catch {
            await made.close()
            throw error
        }
    }

    /// The bus has gone, and with it the session: another may come.
    private func lostBus(_ closed: DBusConnection) {
        guard connection?.open === closed else { return }
        (connection, server, change) = (nil, nil, change + 1)
        wake()
    }

    /// The server's name has another owner, or none: what the last one showed is gone (tracker law C).
    private func hears(owner: String?) {
        guard let connection else { return }
        let known = owner.map { "\(connection.id)/\($0)" }
        guard server == nil || server?.owner != known else { return }
        if let known { memory.keepOnly(owner: known) } else if let server { memory.lose(owner: server.owner) }
        (server, change) = (nil, change + 1)
        wake()
        // Who only shows and ends has nobody to press what stays.
        guard owner != nil, let appeared = outlets.appeared else { return }
        Task {
            await showLost()
            await appeared()
        }
    }
}
