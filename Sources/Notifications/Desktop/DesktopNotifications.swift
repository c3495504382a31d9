package import DBus
import TrackerCore
import Utilities

/// The notification channel of the desktop session (tracker spec C), `org.freedesktop.Notifications`.
///
/// It is unavailable without a bus or a server. After an error, the server is not called for a growing pause, which
/// ends when the server's bus name has a new owner.
package actor DesktopNotifications: NotificationSink {
    static let service = "org.freedesktop.Notifications"
    static let path = "/org/freedesktop/Notifications"
    /// The maximum number of attempts to read the capabilities while the owner of the server's name changes.
    private static let attempts = 4

    package struct Callbacks: Sendable {
        /// Receives a log line for each notification and press.
        package var log: @Sendable (String) -> Void = { _ in }
        /// Receives errors; a repeated error only once.
        package var warn: @Sendable (String) -> Void = { _ in }
        /// Called when a button is pressed. If `nil`, no buttons are shown.
        package var actionInvoked: (@Sendable (DesktopPress) async -> Void)?
        /// Called when a server becomes available.
        package var serverAppeared: (@Sendable () async -> Void)?

        package init() {}
    }

    package struct Limits: Sendable {
        /// The time limit for the delivery of one notification.
        var delivery = Duration.seconds(10)
        /// The time limit for the first response of a server, which the bus might have to start.
        var firstResponse = Duration.seconds(4)
        /// The time limit for a later response of a server.
        var response = Duration.seconds(4)
        /// The pauses after errors.
        var pauses = Backoff(first: .seconds(2), longest: .seconds(300))
    }

    struct Server: Sendable {
        let connection: DBusConnection
        /// Bus ID and unique name of the server. Notification ids are valid for one owner only.
        let owner: String
        let capabilities: Set<String>
    }

    package nonisolated let name = "desktop"
    package nonisolated var timeLimit: Duration { limits.delivery }
    nonisolated let executor = QueueExecutor("desktop")
    /// The executor of the bus connection, which the actor shares.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let bus: @Sendable () -> DBusConnection.Bus?
    let history: ShownNotifications
    nonisolated let limits: Limits
    var callbacks = Callbacks()

    var connection: (open: DBusConnection, id: String)?
    var server: Server?
    private var opening: Task<Server?, Never>?
    /// The number of times that the server's name has changed its owner.
    private var ownerChanges: UInt64 = 0
    private var backoff: Backoff
    private var pausedUntil: ContinuousClock.Instant?
    private var lastProblem: String?
    private var isStopped = false
    /// The activation tokens by the id of the pressed notification.
    var tokens: [UInt32: String] = [:]

    /// - Parameter bus: finds the session bus; called whenever there is no connection.
    package init(
        bus: @escaping @Sendable () -> DBusConnection.Bus? = { SessionBus.find() },
        history: ShownNotifications = ShownNotifications(), limits: Limits = Limits()
    ) {
        (self.bus, self.history, self.limits, backoff) = (bus, history, limits, limits.pauses)
    }

    /// Sets the callbacks. Call it before the first use.
    package func connectCallbacks(_ callbacks: Callbacks) { self.callbacks = callbacks }

    /// Disconnects from the bus. Displayed notifications stay.
    package func stop() async {
        isStopped = true
        server = nil
        // The callbacks can retain this object: break the reference cycle.
        callbacks = Callbacks()
        await connection?.open.close()
        connection = nil
    }

    package func canShow() async -> Bool { await readyServer() != nil }

    // MARK: - The server

    /// The available server, whose capabilities are read once; `nil` if there is none.
    func readyServer() async -> Server? {
        if let server { return server }
        if let opening { return await opening.value }
        guard !isStopped, pausedUntil.map({ $0 <= .now }) ?? true else { return nil }
        let task = Task { await self.open() }
        opening = task
        defer { opening = nil }
        return await task.value
    }

    private func open() async -> Server? {
        guard connection != nil || bus() != nil else { return nil }
        do throws(DBusFailure) {
            let (connection, id) = try await connected()
            let server = try await queryServer(connection, id)
            self.server = server
            endPause()
            lastProblem = nil
            return server
        } catch {
            startPause(error)
            return nil
        }
    }

    /// Reads the server's capabilities, again if its owner changes during the call.
    private func queryServer(_ connection: DBusConnection, _ id: String) async throws(DBusFailure) -> Server {
        let call = DBusCall(Self.service, Self.path, Self.service, "GetCapabilities")
        var attempts = 1
        while true {
            let before = ownerChanges
            do throws(DBusFailure) {
                let answer = try await connection.call(call, limit: limits.firstResponse)
                guard let owner = try await connection.watchOwner(of: Self.service),
                    let capabilities = answer.first?.strings, ownerChanges == before
                else { throw DBusFailure(DBusFailure.failed, "the notification server has exited") }
                return Server(connection: connection, owner: "\(id)/\(owner)", capabilities: Set(capabilities))
            } catch {
                guard ownerChanges != before, attempts < Self.attempts else { throw error }
                attempts += 1
            }
        }
    }

    private func endPause() {
        backoff.reset()
        pausedUntil = nil
    }

    /// Starts a pause, unless the server has ended since.
    func startPause(_ failure: DBusFailure, of server: Server) {
        if self.server?.owner == server.owner { startPause(failure) }
    }

    private func startPause(_ failure: DBusFailure) {
        server = nil
        pausedUntil = .now + backoff.next(jitter: 1)
        // A missing server is not an error. The state reports it.
        guard failure.name != DBusFailure.serviceUnknown, failure.name != "org.freedesktop.DBus.Error.NameHasNoOwner",
            lastProblem != failure.name
        else { return }
        lastProblem = failure.name
        callbacks.warn(
            """
            Desktop notifications: \
            \(failure.name == DBusFailure.noReply ? "the notification server does not respond" : failure.description). \
            They are retried automatically.
            """
        )
    }

    private func connected() async throws(DBusFailure) -> (open: DBusConnection, id: String) {
        if let connection { return connection }
        guard let bus = bus() else { throw DBusFailure(DBusFailure.serviceUnknown, "there is no session bus") }
        let opened = try await DBusConnection.open(bus, on: executor, limit: limits.firstResponse)
        do throws(DBusFailure) {
            let id = try await opened.busID()
            try await opened.watchName(Self.service) { [weak self] owner in
                self?.assumeIsolated { $0.ownerChanged(to: owner) }
            }
            try await opened.subscribe(DBusMatch(sender: Self.service, path: Self.path, interface: Self.service)) {
                [weak self] signal in
                self?.assumeIsolated { $0.handle(signal) }
            }
            connection = (opened, id)
            await opened.whenClosed { [weak self] in self?.assumeIsolated { $0.lostBus(opened) } }
            return (opened, id)
        } catch {
            await opened.close()
            throw error
        }
    }

    /// Handles the end of the bus connection, for example at logout. A new bus can appear later.
    private func lostBus(_ closed: DBusConnection) {
        guard connection?.open === closed else { return }
        (connection, server, ownerChanges) = (nil, nil, ownerChanges + 1)
        endPause()
    }

    /// Handles a new owner or the loss of the server's name. Notifications of the last owner are gone (tracker spec C).
    private func ownerChanged(to owner: String?) {
        guard let connection else { return }
        let known = owner.map { "\(connection.id)/\($0)" }
        guard server == nil || server?.owner != known else { return }
        (server, ownerChanges) = (nil, ownerChanges + 1)
        endPause()
        guard owner != nil, let serverAppeared = callbacks.serverAppeared else { return }
        Task { await serverAppeared() }
    }
}
