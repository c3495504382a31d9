import Foundation
import TrackerCore

/// The desktop of the session.
struct DesktopSink: NotificationSink {
    let name = "desktop"
    private let notice: DesktopNotice

    /// `nil` where nobody can be told.
    init?() {
        guard let notice = DesktopNotice() else { return nil }
        self.notice = notice
    }

    /// A running session is no news for a desktop: its surfaces show it.
    func deliver(_ notification: TrackerNotification) async -> Bool {
        guard !notification.kind.isResident else { return false }
        return notice.send(title: notification.title, body: notification.body, urgency: notification.urgency, sound: notification.sound)
    }
}

/// A notification by way of the desktop's own `notify-send`.
struct DesktopNotice {
    private let program: String

    /// `nil` without a session bus or without the program: then nobody can be told.
    init?() {
        let environment = ProcessInfo.processInfo.environment
        guard !(environment["DBUS_SESSION_BUS_ADDRESS"] ?? "").isEmpty else { return nil }
        let folders = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        guard let folder = folders.first(where: { access("\($0)/notify-send", X_OK) == 0 }) else { return nil }
        program = "\(folder)/notify-send"
    }

    /// Whether a server took it, within 5 s.
    func send(title: String, body: String, urgency: NotificationUrgency = .normal, sound: Bool = true) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "--app-name=WaterH", "--urgency=\(urgency)",
            sound ? "--hint=string:sound-name:message-new-instant" : "--hint=boolean:suppress-sound:true", "--", title, body,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        let limit = ContinuousClock.now.advanced(by: .seconds(5))
        while process.isRunning, ContinuousClock.now < limit { usleep(20_000) }
        guard !process.isRunning else {
            process.terminate()
            return false
        }
        return process.terminationStatus == 0
    }
}
