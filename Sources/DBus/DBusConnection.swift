import CDBus
import Dispatch
import Glibc

/// A connection to a message bus, driven by libdbus' own watches and time-outs on a serial queue.
///
/// Handlers of signals and exported methods run on that queue, in the order of arrival. An actor that shares `executor`
/// may be entered from them with `assumeIsolated`.
package actor DBusConnection {
    /// Where a bus listens.
    package enum Bus: Sendable, Hashable {
        /// The system bus: `DBUS_SYSTEM_BUS_ADDRESS`, or its usual place.
        case system
        /// The user's own bus: `DBUS_SESSION_BUS_ADDRESS`, or its usual place below `XDG_RUNTIME_DIR`.
        case session
        /// As in `unix:path=/run/dbus/system_bus_socket`.
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

    /// The queue on which everything of this connection runs.
    package nonisolated let executor: QueueExecutor
    /// The same, for the language.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    /// Our own name on the bus: `:1.42`.
    package private(set) var uniqueName = ""
    /// Whether messages can still be sent.
    package private(set) var isOpen = true

    let connection: OpaquePointer
    private let loop: DBusLoop
    var tree = DBusObjectTree()
    var calls: [UInt64: PendingCall] = [:]
    var unanswered: [DBusInvocation.Token: OwnedMessage] = [:]
    var subscriptions: [UInt64: Subscription] = [:]
    /// Present owners (unique names) of the well-known names that somebody here watches.
    var owners: [String: String] = [:]
    var watchedNames: Set<String> = []
    /// Those of them whose owner the bus has not named yet.
    var unknownOwners: Set<String> = []
    private var closeHandlers: [@Sendable () -> Void] = []
    private var lastNumber: UInt64 = 0

    /// Method calls of others that wait for an answer of ours at the same time; more are refused.
    static let unansweredLimit = 1024
    /// Bytes that may wait to be handled before reading stops for a while.
    static let receivedLimit = 4 << 20
    /// A larger message ends the connection; BlueZ's own stay far below.
    static let messageLimit = 16 << 20

    /// Connects and says hello.
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
        let made = DBusConnection(connection: connection, executor: executor)
        do throws(DBusFailure) {
            try await made.start(limit: limit)
        } catch {
            await made.close()
            throw error
        }
        return made
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
        // Balanced in `close`: while the connection is open, libdbus holds us.
        dbus_connection_add_filter(connection, Self.filter, Unmanaged.passRetained(self).toOpaque(), nil)
        loop.start()
        let reply = try await call(
            DBusCall("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"), limit: limit)
        uniqueName = reply.first?.text ?? ""
        dbus_bus_set_unique_name(connection, uniqueName)
    }

    private static let filter: DBusHandleMessageFunction = { _, message, data in
        guard let message, let data else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
        let box = SendablePointer(message)
        return Unmanaged<DBusConnection>.fromOpaque(data).takeUnretainedValue().assumeIsolated {
            $0.received(box.pointer)
        }
    }

    private func received(_ message: OpaquePointer) -> DBusHandlerResult {
        switch dbus_message_get_type(message) {
        case DBUS_MESSAGE_TYPE_SIGNAL:
            if dbus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") != 0 {
                close()
            } else {
                deliver(message)
            }
            return DBUS_HANDLER_RESULT_HANDLED
        case DBUS_MESSAGE_TYPE_METHOD_CALL:
            serve(message)
            return DBUS_HANDLER_RESULT_HANDLED
        default:
            return DBUS_HANDLER_RESULT_NOT_YET_HANDLED
        }
    }

    /// Calls back once when the connection ends, also when the bus ended it; at once when it already has.
    package func whenClosed(_ handler: @escaping @Sendable () -> Void) {
        if isOpen { closeHandlers.append(handler) } else { handler() }
    }

    /// Ends the connection: every call fails, every stream of signals ends, nothing is exported any more.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        loop.stop()
        dbus_connection_close(connection)
        failPendingCalls(DBusFailure(DBusFailure.disconnected, "the connection to the bus has ended"))
        unanswered = [:]
        let ends = subscriptions.values.compactMap(\.end) + closeHandlers
        subscriptions = [:]
        closeHandlers = []
        for end in ends { end() }
        // Not now: this may be running inside a callback of libdbus.
        let box = SendablePointer(connection)
        executor.queue.async { [self] in
            dbus_connection_remove_filter(box.pointer, Self.filter, Unmanaged.passUnretained(self).toOpaque())
            dbus_connection_unref(box.pointer)
            Unmanaged.passUnretained(self).release()
        }
    }

    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }
}

/// `OpaquePointer` is not Sendable; on the queue, handing it over is safe.
struct SendablePointer: @unchecked Sendable {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
}
