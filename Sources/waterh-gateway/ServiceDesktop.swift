import Desktop
import Logging
import TrackerCore
import TrackerDesk

/// What the service does with its desktop: a line for each presentation, and a button that acts.
struct ServiceDesktop: Sendable {
    let desktop: DesktopNotifications
    let desk: ServiceDesk
    let reminders: ReminderLoop
    let page: PageAddress
    /// As listed; `nil` where there is no list.
    let listed: String?
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

    /// The day as an icon among the session's status items.
    /// - Parameter poll: has the bottle polled.
    func tray(poll: @escaping @Sendable () async -> Void) -> TrayItem {
        let (desk, reminders, log, desktop, page) = (desk, reminders, log, desktop, page)
        return TrayItem(person: listed, log: { log.notice("\($0)") }) { action in
            do {
                if try await desk.desk(source: "dbus").choose(action) { return await reminders.poke() }
                switch action {
                case .check: await poll()
                case .open:
                    guard let address = page.page("/") else { return log.notice("There is no page to open: it is switched off, or not there yet.") }
                    await desktop.open(address, token: nil)
                default: break
                }
            } catch {
                log.warning("\(action.rawValue) of the icon: \(error)")
            }
        }
    }

    /// The day on the session's bus.
    var object: SessionObject {
        let (desk, reminders) = (desk, reminders)
        @Sendable func write(_ body: @Sendable (TrackerDesk) throws -> String) async throws -> String {
            let answer = try body(await desk.desk(source: "dbus"))
            await reminders.poke()
            return answer
        }
        return SessionObject(
            // The service has the desktop of the first one listed.
            person: listed.map { ($0, true) },
            intents: .init(
                logDrink: { preset in try await write { try TrackerDesk.json(try $0.drink(preset: preset)) } },
                logWater: { try await write { try TrackerDesk.json(try $0.water()) } },
                startSession: { try await write { try TrackerDesk.json(try $0.startSession().session) } },
                endSession: { try await write { try TrackerDesk.json(try $0.endSession()) } },
                state: { try TrackerDesk.json(try await desk.desk(source: "dbus", canNotify: reminders.reachesSomebody).state()) }))
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
        await desktop.open(address, token: press.activationToken)
    }
}
