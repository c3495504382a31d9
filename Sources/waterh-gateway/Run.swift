import ArgumentParser
import BottleProtocol
import CommandKit
import CommandStore
import Foundation
import Gateway
import HTTPAPI
import Logging
import Store
import Sync
import TrackerCore
import TrackerDesk

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The service: polls as often as the day asks for, until it is stopped.",
        discussion: "Clean stop on SIGTERM and SIGINT; SIGHUP reads the settings again and polls at once. Tells systemd how it is, where systemd asks.")

    @OptionGroup var link: LinkOptions
    @OptionGroup var place: StoreOptions
    @OptionGroup var speech: ServiceLogOptions

    @Flag(help: "Acknowledge nothing: the bottle keeps its log.")
    var keep = false

    @Option(help: ArgumentHelp("Where the page is shown: 127.0.0.1:8077, [::]:8077, or off. Default: $WATERH_LISTEN, else what waterh.toml says, else the setting http.listen.", valueName: "address"))
    var listen: String?

    func run() async throws {
        // First of all: what comes while the store and the link are opened is heard, too.
        let signals = StopSignals.stream([SIGINT, SIGTERM, SIGHUP])
        let plan = try ServicePlan(link, place, keep: keep, listen: listen)
        FileLimit.raise()
        let central = try plan.link.open()
        let depot = try Depot(plan.store, zone: plan.zone)
        let supervisor = Supervisor()
        let log = speech.logger(link: "\(try plan.link.name)", isTalkative: link.verbose || Diagnostics.isLively)
        let mark = PollMark()
        var outlets = depot.outlets()
        let board = PollBoard()
        outlets.diagnostic = {
            board.show($0)
            log.log(level: $0.severity == .warning ? .warning : .debug, "\(PollAdvice.words($0))", metadata: mark.metadata)
        }
        outlets.progress = { board.show($0) }
        let (stirrings, stir) = AsyncStream.makeStream(of: HeldConnection.News.self, bufferingPolicy: .bufferingNewest(16))
        outlets.stirred = { stir.yield(.stirred) }
        outlets.lost = {
            board.lost()
            stir.yield(.lost)
        }
        let clock = DriverClock.system(wall: { Machine.now() })
        let driver = GatewayDriver(link: central, journal: depot.store, clock: clock, outlets: outlets)
        let onlookers = Onlookers(now: clock.now)
        let desk = ServiceDesk(depot: depot, plan: plan, supervisor: supervisor, log: log, mark: mark, onlookers: onlookers, now: clock.now)
        // Sinks of the service's own: the pages that are open. What is said in its log is no notification.
        let screen = EventSink()
        let reminders = ReminderLoop(sinks: [screen], desk: { await desk.desk() }, trouble: { log.warning("Reminders: \($0)") })
        let service = PollService(board.watching(desk.surroundings(driver, reminders)), clock: clock)
        let work = Task { await service.run() }
        let listening = Task {
            for await news in stirrings { await news == .lost ? service.connectionLost() : service.bottleStirred() }
        }
        let door = ServicePages(depot: depot, desk: desk, service: service, board: board, screen: screen, reminders: reminders, onlookers: onlookers, log: log)
        let inForce = ServicePages.Plan(plan)
        let pages = Task { await door.run(plan, inForce) }
        let sync = SyncLoop(
            store: depot.store, context: { await desk.desk().context }, connect: SyncLoop.overHTTP(wall: { Machine.now() }), tell: { Self.tell($0, log) })
        let telling = Task { await reminders.run() }
        let syncing = Task { await sync.run() }
        let watchdog = Task { await supervisor.keepAlive { await service.isOnTime() } }
        supervisor.tell("READY=1")
        log.debug("Service on \(central.name)\(plan.link.allowPowerCycle ? ", which may be switched off and on" : "").")

        var stopped = ExitStatus.done
        for await signal in signals {
            if signal == SIGHUP {
                do {
                    let new = try ServicePlan(link, place, keep: keep, listen: listen)
                    await desk.take(new)
                    inForce.change(to: new)
                    await service.hurry()
                } catch {
                    log.warning("The configuration stays as it was: \(error)")
                }
                continue
            }
            stopped = StopSignals.status(for: signal)
            break
        }
        supervisor.tell("STOPPING=1")
        work.cancel()
        syncing.cancel()
        telling.cancel()
        pages.cancel()
        await work.value
        await pages.value
        await syncing.value
        await telling.value
        watchdog.cancel()
        listening.cancel()
        await driver.close()
        if stopped != .done { throw ExitCode(stopped.rawValue) }
    }

    private static func tell(_ word: SyncLoop.Word, _ log: Logger) {
        switch word {
        case .trouble(let trouble): log.warning("Sync: \(trouble)")
        case .goesOn: log.notice("Sync goes on.")
        case .refused(let rows): log.warning("\(counted(rows, "row")) of the sync server cannot be taken: waterh-tracker check --doctor says why.")
        case .afterCommit(let trouble): log.warning("\(trouble)")
        }
    }
}

/// What the service was asked to do: flags over environment over file.
struct ServicePlan: Sendable {
    let link: LinkOptions
    let store: StorePlace
    let zone: String?
    let dialect: RecordDialect?
    let keep: Bool
    /// Where the page is shown; `nil` where nobody says but the settings.
    let listen: String?
    let names: [String]
    let sharesWaterline: Bool

    init(_ link: LinkOptions, _ place: StoreOptions, keep: Bool, listen: String?) throws {
        let file = try Configuration.load(place.config)
        var link = link
        link.fill(file)
        self.link = link
        store = try place.place(file)
        zone = place.namedZone(file)
        dialect = place.dialect ?? file.dialect
        self.keep = keep || file.keep == true
        self.listen = listen ?? Machine.variable("WATERH_LISTEN") ?? file.listen
        names = file.names ?? []
        sharesWaterline = file.shareWaterline == true
        if let listen = self.listen, listen != "off", HTTPServer.Endpoint(listen) == nil {
            throw CommandFailure(.wrongUse, "\"\(listen)\" is no place for the page.", advice: "Write 127.0.0.1:8077, 0.0.0.0:8077, [::1]:8077, or off.")
        }
        // A zone that does not exist is told now, and not swallowed at a later poll.
        _ = try Depot.choice(zone)
    }
}
