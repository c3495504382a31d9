import ArgumentParser
import BottleProtocol
import CommandKit
import CommandStore
import Foundation
import Gateway
import Store
import TrackerCore

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The service: polls as often as the day asks for, until it is stopped.",
        discussion: "Clean stop on SIGTERM and SIGINT; SIGHUP reads the settings again and polls at once. Tells systemd how it is, where systemd asks.")

    @OptionGroup var link: LinkOptions
    @OptionGroup var place: StoreOptions

    @Flag(help: "Acknowledge nothing: the bottle keeps its log.")
    var keep = false

    @Option(help: ArgumentHelp("TOML. Default: ~/.config/waterh/waterh.toml, else /etc/waterh/waterh.toml.", valueName: "file"), completion: .file())
    var config: String?

    func run() async throws {
        // First of all: what comes while the store and the link are opened is heard, too.
        let signals = StopSignals.stream([SIGINT, SIGTERM, SIGHUP])
        let plan = try ServicePlan(link, place, keep: keep, config: config)
        let central = try plan.link.open()
        let depot = try Depot(plan.store, zone: plan.zone)
        let supervisor = Supervisor()
        let watcher = Watcher(verbose: link.verbose)
        var outlets = depot.outlets()
        outlets.diagnostic = { watcher.show($0) }
        let driver = GatewayDriver(link: central, journal: depot.store, clock: .system(wall: { Host.now() }), outlets: outlets)
        let service = PollService(driver: driver, depot: depot, plan: plan, supervisor: supervisor)
        let work = Task { await service.run() }
        let sync = SyncLoop(store: depot.store) { await service.context() }
        let syncing = Task { await sync.run() }
        let watchdog = Task { await supervisor.keepAlive { await service.isOnTime() } }
        supervisor.tell("READY=1")

        var stopped = ExitStatus.done
        for await signal in signals {
            if signal == SIGHUP {
                do {
                    await service.take(try ServicePlan(link, place, keep: keep, config: config))
                } catch {
                    Diagnostics.warning("The configuration stays as it was: \(error)")
                }
                continue
            }
            stopped = StopSignals.status(for: signal)
            break
        }
        supervisor.tell("STOPPING=1")
        work.cancel()
        syncing.cancel()
        await service.hurry()
        await work.value
        await syncing.value
        watchdog.cancel()
        await driver.close()
        if stopped != .done { throw ExitCode(stopped.rawValue) }
    }
}

/// What the service was asked to do: flags over environment over file.
struct ServicePlan: Sendable {
    let link: LinkOptions
    let store: StorePlace
    let zone: String?
    let dialect: RecordDialect?
    let keep: Bool

    init(_ link: LinkOptions, _ place: StoreOptions, keep: Bool, config: String?) throws {
        let file = try Configuration.load(config)
        var link = link
        link.fill(file)
        self.link = link
        store = try place.place(file)
        zone = place.namedZone(file)
        dialect = place.dialect ?? file.dialect
        self.keep = keep || file.keep == true
        // A zone that does not exist is told now, and not swallowed at a later poll.
        _ = try Host.zone(zone)
    }
}

/// Polls for ever, and between polls waits as long as tracker law A7 says.
actor PollService {
    private let driver: GatewayDriver
    /// With the settings and the zone as they were read last.
    private var depot: Depot
    private var plan: ServicePlan
    private let supervisor: Supervisor
    private var history = PollHistory()
    private var pause: Task<Void, Never>?
    /// When the present pause ends; `nil` during a poll.
    private var pauseEnds: ContinuousClock.Instant?
    /// The next pause is to be left out.
    private var isHurried = false
    private var lastFailure: PollFailure?
    private var lastPollEnded: ContinuousClock.Instant?
    private var settingsTrouble: String?

    init(driver: GatewayDriver, depot: Depot, plan: ServicePlan, supervisor: Supervisor) {
        self.driver = driver
        self.depot = depot
        self.plan = plan
        self.supervisor = supervisor
    }

    func run() async {
        while !Task.isCancelled {
            isHurried = false
            await poll()
            guard !Task.isCancelled else { return }
            lastPollEnded = .now
            // In steps of a minute at most: a drink, a setting, another zone re-plan the poll while it waits. Where the clock has been set,
            // what could not be dated is worth another look at once.
            let clock = WallClockJump()
            while !isHurried, !Task.isCancelled, !clock.hasJumped, let wait = secondsToNextPoll() {
                let pause = Task { await Self.rest(min(wait, 60), clock) }
                self.pause = pause
                pauseEnds = .now + .seconds(min(wait, 60))
                await pause.value
                pauseEnds = nil
                reread()
            }
        }
    }

    /// Waits, but not on when the clock has been set.
    private static func rest(_ seconds: Double, _ clock: WallClockJump) async {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end, !clock.hasJumped {
            let slice = min(.seconds(30), ContinuousClock.now.duration(to: end))
            guard (try? await Task.sleep(for: slice)) != nil else { return }
        }
    }

    /// Who writes, now: for what else changes the store beside the polls.
    func context() -> WriteContext { depot.context() }

    /// Ends the pause, or leaves out the one after the poll that is under way.
    func hurry() {
        isHurried = true
        pause?.cancel()
    }

    /// Whether work gets on: no deadline of a poll has passed without being served, and no pause is longer than meant.
    /// An actor that is stuck does not answer at all.
    func isOnTime() async -> Bool {
        if let pauseEnds { return ContinuousClock.now < pauseEnds + Self.grace }
        return await driver.isOnTime(grace: Self.grace)
    }

    /// A machine that was asleep, or has a lot to do, may be that late.
    private static let grace = Duration.seconds(30)

    /// Goes on with another plan, at once. Link and store stay: they need a restart.
    func take(_ new: ServicePlan) {
        if new.link.link != plan.link.link || new.store.path != plan.store.path {
            Diagnostics.warning("A changed link or store takes effect at the next start of the service.")
        }
        plan = new
        hurry()
    }

    private func poll() async {
        reread()
        // A store that cannot be read: then nothing is drained, or another's bottle might be.
        guard var options = try? depot.pollOptions(dialect: plan.dialect) else {
            return tell(PollReport(failure: PollFailure(.cannotStore, "the store cannot be read.", advice: "Nothing was taken from the bottle. See: waterh-gateway doctor")))
        }
        options.bottle = Depot.meant(plan.link.wantedBottle, among: options.own)
        options.keep = plan.keep
        options.allowPowerCycle = plan.link.allowPowerCycle
        options.history = history
        let report = await driver.poll(options)
        history = report.history
        depot.afterCommit()
        tell(report)
        if report.failure != nil, let resolved = try? depot.lookAgain(options), resolved > 0 {
            Diagnostics.line("\(resolved) records of earlier polls got a date and count now.")
        }
    }

    /// Settings and zone anew each time: another process may have changed them, SIGHUP says so, or the machine travels.
    private func reread() {
        do {
            depot = try depot.reread(zone: plan.zone)
            settingsTrouble = nil
        } catch {
            // Told once: the poll goes on with what is known.
            if settingsTrouble != "\(error)" { Diagnostics.warning("The settings stay as they were read last: \(error)") }
            settingsTrouble = "\(error)"
        }
    }

    /// One line where something happened; a failure is said once, until it changes.
    private func tell(_ report: PollReport) {
        if let failure = report.failure {
            supervisor.tell(status: failure.kind.text)
            guard failure.kind != lastFailure?.kind, failure.kind != .interrupted else { return }
            lastFailure = failure
            return Diagnostics.error("\(failure.kind.text): \(sentence(failure.sentence))", advice: failure.advice)
        }
        if let line = PollText.adoption(report) { Diagnostics.line(line) }
        if lastFailure != nil { Diagnostics.line("The bottle answers again.") }
        lastFailure = nil
        guard report.received > 0 || report.quarantined > 0 else { return }
        for line in PollText.lines(report, state: try? depot.state()) { Diagnostics.line(line) }
        supervisor.tell(status: "\(report.received) records at the last poll that brought some")
    }

    /// Seconds that the next poll is still away; `nil` when it is due. Outside drinking hours, with `bottle.pollWhenIdle`
    /// off, it is not due before they begin.
    private func secondsToNextPoll() -> Double? {
        let elapsed = lastPollEnded.map { ContinuousClock.now - $0 } ?? .zero
        var pause: Double? = 600
        if lastFailure?.kind != .cannotStore, let state = try? depot.state() {
            pause = PollPlan.secondsToNextPoll(state.nextDrink, pollWhenIdle: depot.settings.pollWhenIdle)
        }
        guard let pause else { return 60 }
        let left = Duration.seconds(pause) - elapsed
        return left > .zero ? Double(left.components.seconds) + Double(left.components.attoseconds) / 1e18 : nil
    }
}
