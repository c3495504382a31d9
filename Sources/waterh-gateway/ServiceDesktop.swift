import Notifications
import Logging
import TrackerCore
import TrackerService

/// The service's desktop notifications: logs each notification, and performs the actions of its buttons.
struct ServiceDesktop: Sendable {
    let desktop: DesktopNotifications
    let tracker: ServiceStore
    let reminders: ReminderLoop
    let page: PageAddress
    let instance: String?
    let log: Logger
    private let presses: ActionQueue

    /// - Parameter presses: the file of the pending button presses.
    init(
        desktop: DesktopNotifications, tracker: ServiceStore, reminders: ReminderLoop, page: PageAddress,
        instance: String?, log: Logger, presses: String
    ) {
        (self.desktop, self.tracker, self.reminders, self.page, self.instance, self.log) = (
            desktop, tracker, reminders, page, instance, log
        )
        self.presses = ActionQueue(file: presses, log: { log.warning("\($0)") }) { press in
            let now = await tracker.tracker().now
            let at = press.delay.map { now.advanced(seconds: -$0) }
            guard try await tracker.tracker(source: "notification").press(press.action, key: press.key, at: at) else {
                return
            }
            await reminders.checkNow()
            guard press.action == .open else { return }
            guard let address = page.page(press.kind.page) else {
                return log.notice("Cannot open the page: it is off, or not ready yet.")
            }
            await desktop.open(address, token: press.activationToken)
        }
    }

    func connectCallbacks() async {
        var callbacks = DesktopNotifications.Callbacks()
        callbacks.log = { log.notice("\($0)") }
        callbacks.warn = { log.warning("\($0)") }
        callbacks.actionInvoked = { await presses.keep($0) }
        callbacks.serverAppeared = { await reminders.checkNow() }
        await desktop.connectCallbacks(callbacks)
        // Perform presses from before the restart.
        Task { await presses.performQueued() }
    }

    /// Releases the desktop. Notifications and pending presses stay.
    func stop() async {
        await presses.stop()
        await desktop.stop()
    }

    var object: TrackerObject {
        TrackerObject(instance: instance) { action in
            let tracker = await self.tracker.tracker(source: "dbus", canNotify: reminders.hasReceivers)
            let answer =
                switch action {
                case .logDrink(let preset): try TrackerAPI.json(try tracker.drink(preset: preset))
                case .logWater: try TrackerAPI.json(try tracker.water())
                case .startSession: try TrackerAPI.json(try tracker.startSession().session)
                case .endSession: try TrackerAPI.json(try tracker.endSession())
                case .getState: try TrackerAPI.json(try tracker.state())
                }
            if action != .getState { await reminders.checkNow() }
            return answer
        }
    }
}
