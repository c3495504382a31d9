import CommandSupport
import DBus
import DBusSupport
import Foundation
import Support
import Testing

/// A home with a session bus, where services without a bottle and agents show notifications.
struct DesktopSession: Sendable {
    let home: Home
    let bus: PrivateBus
    private var onBus: Home { home.with(["DBUS_SESSION_BUS_ADDRESS": bus.address]) }

    /// - Parameter settings: settings of the store. Hydration reminders are off: they depend on the time of day.
    init(_ settings: String = "") async throws {
        home = try Home(["WATERH_ZONE": ""])
        bus = try await PrivateBus()
        try await tracker("settings set reminders.enabled false \(settings)")
    }

    @discardableResult
    func tracker(_ line: String) async throws -> Program.Result {
        try await Program.tracker.succeed(line, environment: onBus.environment)
    }

    /// - Parameter hasDesktop: whether the service has access to the session bus.
    func service(hasDesktop: Bool = true) throws -> RunningProgram {
        try Program.gateway.start(
            "run --link unix:\(home.folder.file("b.sock")) --listen 127.0.0.1:0 --verbose",
            environment: (hasDesktop ? onBus : home).environment)
    }

    func agent(_ more: [String: String] = [:]) throws -> RunningProgram {
        try Program.tracker.start("agent", environment: onBus.with(more).environment)
    }

    func socket() throws -> ServiceSocket {
        let name = try #require(home.folder.names().first { $0.hasPrefix("waterh-") && $0.hasSuffix(".sock") })
        return ServiceSocket(path: home.folder.file(name))
    }

    /// Starts a session with one drink, and waits until the desktop shows the session and a reminder.
    func drink(shownBy server: FakeNotificationServer) async throws -> (
        all: [FakeNotificationServer.Shown], reminder: FakeNotificationServer.Shown
    ) {
        try await tracker("session start")
        try await tracker("drink")
        let shown = await event(within: 60) {
            let all = server.notified.items
            return all.contains { $0.summary == "Session running" } && all.contains { $0.isReminder } ? all : nil
        }
        let all = try #require(shown, "\(server.notified.items.map(\.summary))")
        return (all, try #require(all.first { $0.isReminder }))
    }

    func logs() async throws -> [[String: Any]] {
        try #require(try await tracker("session show --json").object()["logs"] as? [[String: Any]])
    }

    /// The notifications that the store lists as delivered to the desktop.
    func delivered() throws -> [String] {
        try StoreFile(home.store).rows("SELECT id FROM notification WHERE sinks LIKE '%desktop%' ORDER BY id").map {
            $0[0]
        }
    }
}

extension FakeNotificationServer.Shown {
    /// Whether it asks for water in a session.
    var isReminder: Bool { actions.contains("log-water") && actions.contains("dismiss") }
    var id: String? { hints["x-waterh-id"]?.text }
}
