import ArgumentParser
import CommandKit
import Foundation
import Logging
import ServiceLog

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "The service: polls as often as the day asks for, until it is stopped.",
        discussion:
            """
            Clean stop on SIGTERM and SIGINT; SIGHUP reads the settings again and polls at once. Tells systemd how \
            it is, where systemd asks.
            """
    )

    @OptionGroup var link: LinkOptions
    @OptionGroup var place: StoreOptions
    @OptionGroup var speech: ServiceLogOptions

    @Flag(help: "Acknowledge nothing: the bottle keeps its log.")
    var keep = false

    @Option(
        help: ArgumentHelp(
            """
            Where the page is shown: 127.0.0.1:8077, [::]:8077, or off. Default: $WATERH_LISTEN, else what \
            waterh.toml says, else the setting http.listen.
            """,
            valueName: "address"))
    var listen: String?

    func run() async throws {
        // First of all: what comes while the store and the link are opened is heard, too.
        let signals = StopSignals.stream([SIGINT, SIGTERM, SIGHUP])
        speech.takeOver("waterh-gateway")
        let plan = try ServicePlan(link, place, keep: keep, listen: listen)
        FileLimit.raise()
        let supervisor = Supervisor()
        let log = speech.logger("waterh-gateway", link: plan.links, isTalkative: link.verbose || Diagnostics.isLively)
        for remark in plan.remarks { log.warning("\(remark)") }
        let house = House(speech, supervisor, log: log)
        try await house.take(plan)
        let door = await ServicePages(house, plan, log: log)
        log.notice("\(ProgramVersion.text) keeps \(plan.words); page: \(door.listen).")
        let pages = Task { await door.run() }
        let watchdog = Task { await supervisor.keepAlive { await house.isOnTime } }
        supervisor.tell("READY=1")

        var stopped = ExitStatus.done
        var inForce = plan
        for await signal in signals {
            if signal == SIGHUP {
                do {
                    let new = try inForce.reread(link, place, keep: keep, listen: listen)
                    if new.listen != plan.listen {
                        log.warning(
                            "The page stays where it is: another place takes effect at the next start of the service.")
                    }
                    try await house.take(new)
                    inForce = new
                    door.take(new)
                    log.notice("The configuration was read again: it keeps \(new.words).")
                    await house.hurry()
                } catch {
                    log.warning("The configuration stays as it was: \(error)")
                }
                continue
            }
            stopped = StopSignals.status(for: signal)
            log.notice("\(ProgramVersion.text) stops, as it was asked to.")
            break
        }
        supervisor.tell("STOPPING=1")
        pages.cancel()
        await house.close()
        await pages.value
        watchdog.cancel()
        if stopped != .done { throw ExitCode(stopped.rawValue) }
    }
}
