import CDBus
import Dispatch
import Glibc

/// A connection to a message bus, driven by libdbus' watches on a serial queue.
///
/// Signal and method handlers run on that queue, in the order of arrival. They may enter an actor that shares
/// `executor` with `assumeIsolated`.
package actor DBusConnection {
    package enum Bus: Sendable, Hashable {
        /// The system bus: `DBUS_SYSTEM_BUS_ADDRESS`, or its default address.
        case system
        /// The session bus: `DBUS_SESSION_BUS_ADDRESS`, or its default path in `XDG_RUNTIME_DIR`.
        case session
        /// An address such as `unix:path=/run/dbus/system_bus_socket`.
        case address(String)

        var address: String {
            switch self {
            case .system: Self.variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/run/dbus/system_bus_socket"
            case .session:
                Self.variable("DBUS_SESSION_BUS_ADDRESS")
                    ?? "unix:path=\(Self.variable("XDG_RUNTIME_DIR") ?? "/run/user/\(getuid())")/bus"
            case .address(let address): address
            }
        }

        private static func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    package nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    /// The unique name of this connection: `:1.42`.
    package private(set) var uniqueName = ""
    package private(set) var isOpen = true

    let connection: OpaquePointer
    private let loop: DBusLoop
    var tree = DBusObjectTree()
    /// The calls that wait for a reply, by serial number.
    var calls: [UInt32: Completion] = [:]
    var unanswered: [DBusInvocation.Token: OwnedMessage] = [:]
    var subscriptions: [UInt64: Subscription] = [:]
    /// The watched well-known names.
    var names: [String: WatchedName] = [:]
    private var closeHandlers: [@Sendable () -> Void] = []
    private var lastNumber: UInt64 = 0

    /// The maximum number of received method calls that wait for this process's reply; further ones are rejected.
    static let unansweredLimit = 1024
    /// The number of unhandled bytes at which reading pauses.
    static let receivedLimit = 4 << 20
    /// The maximum message size, far above BlueZ's; a larger message ends the connection.
    static let messageLimit = 16 << 20

    package static func open(
        _ bus: Bus, on executor: QueueExecutor, limit: Duration = .seconds(10)
    ) async throws(DBusFailure) -> DBusConnection {
        var error = DBusError()
        dbus_error_init(&error)
        guard let connection = dbus_connection_open_private(bus.address, &error) else {
            defer { dbus_error_free(&error) }
            throw DBusFailure(
                error.name.map { String(cString: $0) } ?? DBusFailure.failed,
                """
                cannot connect to the bus at \(bus.address): \
                \(error.message.map { String(cString: $0) } ?? "no reason given")
                """
            )
        }
        let newConnection = DBusConnection(connection: connection, executor: executor)
        do throws(DBusFailure) {
            try await newConnection.start(limit: limit)
        } catch {
            await newConnection.close()
            throw error
        }
        return newConnection
    }

    private init(connection: OpaquePointer, executor: QueueExecutor) {
        self.connection = connection
        self.executor = executor
        loop = DBusLoop(connection: connection, queue: executor.queue)
    }

    private func start(limit: Duration) async throws(DBusFailure) {
        dbus_connection_set_exit_on_disconnect(connection, 0)
        dbus_connection_set_max_received_size(connection, Self.receivedLimit)
        dbus_connection_set_max_message_size(connection, Self.messageLimit)
        // The balancing release is in `close`: libdbus holds a reference while the connection is open.
        dbus_connection_add_filter(connection, Self.filter, Unmanaged.passRetained(self).toOpaque(), nil)
        loop.start()
        let reply = try await call(.bus("Hello"), limit: limit)
        uniqueName = reply.first?.text ?? ""
        dbus_bus_set_unique_name(connection, uniqueName)
    }

    private static let filter: DBusHandleMessageFunction = { _, message, data in
        guard let message, let data else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
        nonisolated(unsafe) let pointer = message
        Unmanaged<DBusConnection>.fromOpaque(data).takeUnretainedValue().assumeIsolated {
            $0.received(OwnedMessage(dbus_message_ref(pointer)))
        }
        return DBUS_HANDLER_RESULT_HANDLED
    }

    private func received(_ message: OwnedMessage) {
        switch dbus_message_get_type(message.pointer) {
        case DBUS_MESSAGE_TYPE_SIGNAL:
            if message.interface == "org.freedesktop.DBus.Local", message.member == "Disconnected" {
                close()
            } else {
                deliver(message)
            }
        case DBUS_MESSAGE_TYPE_METHOD_CALL: handleMethodCall(message)
        default: finish(message)
        }
    }

    /// Calls the handler once when the connection ends, or at once if it has ended.
    package func whenClosed(_ handler: @escaping @Sendable () -> Void) {
        if isOpen { closeHandlers.append(handler) } else { handler() }
    }

    /// Closes the connection. All calls fail, and all subscriptions and objects are removed.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        loop.stop()
        dbus_connection_close(connection)
        for serial in calls.keys { end(serial, Self.closed) }
        unanswered = [:]
        let handlers = closeHandlers
        subscriptions = [:]
        names = [:]
        closeHandlers = []
        for handler in handlers { handler() }
        // Close later, because this function can run inside a callback of libdbus.
        nonisolated(unsafe) let connection = connection
        executor.queue.async { [self] in
            dbus_connection_remove_filter(connection, Self.filter, Unmanaged.passUnretained(self).toOpaque())
            dbus_connection_unref(connection)
            Unmanaged.passUnretained(self).release()
        }
    }

    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}
