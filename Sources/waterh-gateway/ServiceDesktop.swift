import Desktop
import Foundation
import Logging
import TrackerCore
import TrackerDesk

/// What the service does with its desktop: a line for each presentation, and a button that acts.
struct ServiceDesktop: Sendable {
    let desktop: DesktopNotifications
    let desk: ServiceDesk
    let reminders: ReminderLoop
    let page: PageAddress
    let log: Logger

    /// From now on buttons act, and a server that comes is told what is due.
    func attend() async {
        var outlets = DesktopNotifications.Outlets()
        let (log, reminders) = (log, reminders)
        outlets.log = { log.notice("\($0)") }
        outlets.trouble = { log.warning("\($0)") }
        outlets.pressed = { await act($0) }
        outlets.appeared = { await reminders.poke() }
        await desktop.attend(outlets)
    }

    private func act(_ press: DesktopPress) async {
        do {
            guard try await desk.desk(source: "notification").press(press.action, key: press.key) else { return }
            await reminders.poke()
            if press.action == .open { await open(press) }
        } catch {
            log.warning("\(press.action.rawValue) of \(press.kind.id): \(error)")
        }
    }

    private func open(_ press: DesktopPress) async {
        guard let address = page.page(press.kind.page) else { return log.notice("There is no page to open: it is switched off, or not there yet.") }
        guard await !desktop.open(address, token: press.activationToken) else { return }
        // Without a portal: whatever the desktop opens addresses with.
        let opener = Process()
        opener.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        opener.arguments = ["xdg-open", address]
        (opener.standardInput, opener.standardOutput, opener.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice)
        do { try opener.run() } catch { log.warning("The page cannot be opened: \(error)") }
    }
}
