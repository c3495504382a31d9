import DBus
import Support

/// As much of what draws status items as their specification asks for, on a bus of ours: it knows who registered, looks
/// at an item, and clicks in its menu.
package final class FakeStatusNotifierWatcher: Sendable {
    package static let service = "org.kde.StatusNotifierWatcher"
    package static let path = "/StatusNotifierWatcher"
    private static let item = "org.kde.StatusNotifierItem"
    private static let menu = "com.canonical.dbusmenu"

    package let connection: DBusConnection
    /// Who registered, in order.
    package let registered = Collected<String>()
    /// Signals of items and menus, by their names.
    package let signals = Collected<String>()

    /// - Parameter refuses: answers each registration with an error.
    package init(_ bus: PrivateBus, refuses: Bool = false) async throws {
        connection = try await bus.connect()
        let registered = registered
        let method = DBusMethod("RegisterStatusNotifierItem", input: [.init("service", "s")]) { call in
            registered.add(call.arguments[0].text ?? "")
            return refuses ? .failure(DBusFailure.failed, "no more items") : .done
        }
        await connection.export(Self.path, [DBusInterface(Self.service, methods: [method])])
        for interface in [Self.item, Self.menu] {
            _ = try await connection.subscribe(DBusMatch(interface: interface)) { [signals] in signals.add($0.member) }
        }
        let owns = Collected<String?>()
        _ = try await connection.watchName(Self.service) { owns.add($0) }
        // The bus may not have seen yet that the last one has gone.
        guard try await !connection.requestName(Self.service, waits: true) else { return }
        let name = await connection.uniqueName
        guard await event(within: 20, { owns.items.contains(name) ? true : nil }) == true else {
            throw DBusFailure(DBusFailure.failed, "\(Self.service) is somebody else's")
        }
    }

    package func stop() async { await connection.close() }

    /// What an item says of itself.
    package func properties(of item: String) async throws -> [String: DBusValue] {
        let answer = try await connection.call(
            DBusCall(item, "/StatusNotifierItem", "org.freedesktop.DBus.Properties", "GetAll", [.string(Self.item)]))
        return answer.first?.named ?? [:]
    }

    /// The menu's lines: number, words (empty: a line between), and whether it can be clicked.
    package func entries(of item: String) async throws -> [(id: Int, label: String, isEnabled: Bool)] {
        let answer = try await connection.call(
            DBusCall(item, "/MenuBar", Self.menu, "GetLayout", [.int32(0), .int32(-1), .strings([])]))
        return (answer.last?.elements?.last?.elements ?? []).compactMap { child in
            guard let parts = child.elements, parts.count == 3, let id = parts[0].integer, let all = parts[1].named
            else { return nil }
            return (id, all["label"]?.text ?? "", all["enabled"]?.bool ?? false)
        }
    }

    /// The number of the line with these words.
    package func entry(_ words: String, of item: String) async throws -> Int? {
        try await entries(of: item).first { $0.label.contains(words) }?.id
    }

    package func click(_ id: Int, of item: String) async throws {
        _ = try await connection.call(
            DBusCall(
                item, "/MenuBar", Self.menu, "Event",
                [.int32(Int32(id)), .string("clicked"), .variant(.string("")), .uint32(0)]))
    }

    package func call(_ item: String, _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue])
        async throws -> [DBusValue]
    {
        try await connection.call(DBusCall(item, path, interface, member, arguments))
    }
}
