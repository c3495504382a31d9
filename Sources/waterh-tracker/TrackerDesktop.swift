import CommandSupport
import Notifications
import TrackerCore
import TrackerService

/// The desktop, for commands that show something and end: nobody is there any more when a button is pressed, so there
/// are none.
enum TrackerDesktop {
    static func open(store: String, log: @escaping @Sendable (String) -> Void) async -> DesktopNotifications {
        let desktop = DesktopNotifications(memory: memory(store: store))
        var outlets = DesktopNotifications.Outlets()
        outlets.log = log
        outlets.trouble = { Diagnostics.warning($0) }
        await desktop.attend(outlets)
        return desktop
    }

    /// What the session's programs have shown of that store.
    static func memory(store: String) -> NoticeMemory {
        NoticeMemory(file: ServiceSocket.file(forStore: store, "notices.json"))
    }

    /// Shows that it works.
    static func tryOut(title: String, body: String, on desk: TrackerDesk) async throws -> Bool {
        let (desktop, day) = (await open(store: desk.path) { _ in }, try desk.today())
        return await desktop.deliver(
            // Each time anew: who tries again wants to see it again.
            TrackerNotification(
                kind: .recovery, notificationId: "setup/\(desk.now.milliseconds)", title: title, body: body,
                urgency: .normal, sound: true, dayKey: day, acceptance: .recovery))
    }
}
