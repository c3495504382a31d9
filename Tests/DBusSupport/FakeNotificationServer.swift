package import DBus
import Support
import Synchronization

/// A notification server with the required parts of the Desktop Notifications Specification 1.2, on a private bus. It
/// records calls and can misbehave on request. A real one is tested with dunst.
package final class FakeNotificationServer: Sendable {
    package static let service = "org.freedesktop.Notifications"
    package static let path = "/org/freedesktop/Notifications"

    /// One call of Notify and the returned id.
    package struct Shown: Sendable, Equatable {
        package var number: UInt32
        package var replaces: UInt32
        package var summary: String
        package var body: String
        package var actions: [String]
        package var hints: [String: DBusValue]
        package var expires: Int
    }

    /// How the server replies to Notify.
    package enum Manner: Sendable { case normally, withInvalidID, withError, withoutReply }

    private struct State {
        var manner = Manner.normally
        var last: UInt32 = 0
        var open: Set<UInt32> = []
        var asked = 0
    }

    package let connection: DBusConnection
    /// Every call of Notify, in order.
    package let notified = Collected<Shown>()
    /// The ids of CloseNotification calls.
    package let closed = Collected<UInt32>()
    private let state = Mutex(State())

    /// Owns the bus name when it returns, unless `isNext` is set.
    /// - Parameters:
    ///   - first: the last id so far; the first notification has the next id.
    ///   - isNext: queues for the name until the current owner releases it.
    ///   - answersQuery: called for GetCapabilities. The server sends no reply if it returns `false`.
    package init(
        _ bus: PrivateBus, capabilities: [String] = ["body", "actions"], manner: Manner = .normally,
        isInhibited: Bool = false, first: UInt32 = 0, isNext: Bool = false,
        answersQuery: @escaping @Sendable () -> Bool = { true }
    ) async throws {
        connection = try await bus.connect()
        state.withLock { ($0.manner, $0.last) = (manner, first) }
        await connection.export(Self.path, [interface(capabilities, isInhibited, answersQuery)])
        let owns = Collected<String?>()
        try await connection.watchName(Self.service) { owns.add($0) }
        // The bus might not have processed the previous owner's disconnect.
        guard try await !connection.requestName(Self.service, waits: true), !isNext else { return }
        let name = await connection.uniqueName
        guard await event(within: 20, { owns.items.contains(name) ? true : nil }) == true else {
            throw DBusFailure(DBusFailure.failed, "\(Self.service) has another owner")
        }
    }

    package var manner: Manner {
        get { state.withLock { $0.manner } }
        set { state.withLock { $0.manner = newValue } }
    }

    /// The number of GetCapabilities calls.
    package var asked: Int { state.withLock { $0.asked } }

    package func press(_ number: UInt32, _ key: String) async throws {
        try await connection.emit(
            path: Self.path, interface: Self.service, "ActionInvoked", [.uint32(number), .string(key)])
    }

    /// - Parameter reason: 1 expired, 2 dismissed by the user, 3 closed by a call.
    package func close(_ number: UInt32, reason: UInt32 = 2) async throws {
        state.withLock { _ = $0.open.remove(number) }
        try await connection.emit(
            path: Self.path, interface: Self.service, "NotificationClosed", [.uint32(number), .uint32(reason)])
    }

    package func inhibit(_ isInhibited: Bool) async {
        await connection.setProperty(Self.path, Self.service, "Inhibited", .boolean(isInhibited))
    }

    package func stop() async { await connection.close() }

    private func interface(
        _ capabilities: [String], _ isInhibited: Bool, _ answersQuery: @escaping @Sendable () -> Bool
    )
        -> DBusInterface
    {
        DBusInterface(
            Self.service,
            methods: [
                DBusMethod("GetCapabilities", output: [.init("capabilities", "as")]) { [weak self] _ in
                    self?.state.withLock { $0.asked += 1 }
                    return answersQuery() ? .values([.strings(capabilities)]) : .deferred
                },
                DBusMethod(
                    "Notify",
                    input: [
                        .init("app_name", "s"), .init("replaces_id", "u"), .init("app_icon", "s"),
                        .init("summary", "s"), .init("body", "s"), .init("actions", "as"),
                        .init("hints", "a{sv}"), .init("expire_timeout", "i"),
                    ], output: [.init("id", "u")]
                ) { [weak self] in self?.notify($0) ?? .done },
                DBusMethod("CloseNotification", input: [.init("id", "u")]) { [weak self] call in
                    guard let self, let number = call.arguments[0].integer.map(UInt32.init) else { return .done }
                    closed.add(number)
                    Task { try await self.close(number, reason: 3) }
                    return .done
                },
            ],
            properties: ["Inhibited": .boolean(isInhibited)])
    }

    private func notify(_ call: DBusInvocation) -> DBusReply {
        let arguments = call.arguments
        let replaces = UInt32(arguments[1].integer ?? 0)
        let (manner, number) = state.withLock { state in
            if case .withInvalidID = state.manner { return (state.manner, UInt32(0)) }
            // A closed notification cannot be replaced: it gets a new id.
            if replaces == 0 || !state.open.contains(replaces) { state.last += 1 }
            let number = replaces != 0 && state.open.contains(replaces) ? replaces : state.last
            state.open.insert(number)
            return (state.manner, number)
        }
        notified.add(
            Shown(
                number: number, replaces: replaces, summary: arguments[3].text ?? "", body: arguments[4].text ?? "",
                actions: arguments[5].strings ?? [], hints: arguments[6].dictionary ?? [:],
                expires: arguments[7].integer ?? 0))
        switch manner {
        case .normally, .withInvalidID: return .values([.uint32(number)])
        case .withError:
            return .failure("org.freedesktop.Notifications.Error.ExcessNotificationGeneration", "too many")
        case .withoutReply: return .deferred
        }
    }
}
