import Notifications
import Foundation
import Logging
import TrackerCore
import TrackerService

/// The service's desktop notifications: a log line per notification, and actions of buttons.
struct ServiceDesktop: Sendable {
    let desktop: DesktopNotifications
    let desk: ServiceStore
    let reminders: ReminderLoop
    let page: PageAddress
    let instance: String?
    let log: Logger
    private let taps: ActionQueue
    /// The delay from which the message of a button press contains its time.
    private static let late = Duration.seconds(30)

    /// - Parameter taps: pending button presses.
    init(
        desktop: DesktopNotifications, desk: ServiceStore, reminders: ReminderLoop, page: PageAddress,
        instance: String?,
        log: Logger, taps: PendingActions
    ) {
        (self.desktop, self.desk, self.reminders, self.page, self.instance, self.log) = (
            desktop, desk, reminders, page, instance, log
        )
        self.taps = ActionQueue(taps, say: { log.warning("\($0)") }) { tap in
            let (now, age) = (await desk.desk().now, tap.age)
            let at = age >= Self.late ? now.advanced(seconds: -(age / .seconds(1))) : nil
            let press = tap.press
            guard try await desk.desk(source: "notification").press(press.action, key: press.key, at: at) else {
                return
            }
            await reminders.poke()
            if press.action == .open {
                await Self.open(page.page(press.kind.page), press.activationToken, desktop, log)
            }
        }
    }

    func attend() async {
        var outlets = DesktopNotifications.Outlets()
        let (log, reminders) = (log, reminders)
        outlets.log = { log.notice("\($0)") }
        outlets.trouble = { log.warning("\($0)") }
        let taps = taps
        outlets.pressed = { await taps.keep($0) }
        outlets.appeared = { await reminders.poke() }
        await desktop.attend(outlets)
        // Perform presses from before the restart.
        Task { await taps.performQueued() }
    }

    /// Releases the desktop. Notifications and pending presses stay.
    func stop() async {
        await taps.stop()
        await desktop.stop()
    }

    var object: SessionObject {
        let (desk, reminders) = (desk, reminders)
        return SessionObject(instance: instance) { action in
            let desk = await desk.desk(source: "dbus", canNotify: reminders.reachesSomebody)
            let answer =
                switch action {
                case .logDrink(let preset): try TrackerDesk.json(try desk.drink(preset: preset))
                case .logWater: try TrackerDesk.json(try desk.water())
                case .startSession: try TrackerDesk.json(try desk.startSession().session)
                case .endSession: try TrackerDesk.json(try desk.endSession())
                case .getState: try TrackerDesk.json(try desk.state())
                }
            if action != .getState { await reminders.poke() }
            return answer
        }
    }

    private static func open(_ address: String?, _ token: String?, _ desktop: DesktopNotifications, _ log: Logger) async
    {
        guard let address else { return log.notice("cannot open the page: it is off or not ready") }
        await desktop.open(address, token: token)
    }
}
