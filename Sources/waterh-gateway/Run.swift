import ArgumentParser
import CommandSupport
import Foundation
import Logging

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the polling service",
        discussion: "Stops cleanly at SIGTERM and SIGINT; polls at once at SIGHUP. Sends systemd its state (sd_notify)."
    )

    @OptionGroup var link: LinkOptions
    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var logOptions: ServiceLogOptions

    @Flag(help: "Acknowledge nothing: the bottle keeps its log")
    var keep = false

    @Option(
        help: ArgumentHelp(
            """
            Address of the page: 127.0.0.1:8077, [::]:8077, or off (default: $WATERH_LISTEN, else waterh.toml, else \
            the setting http.listen)
            """,
            valueName: "address"))
    var listen: String?

    func run() async throws {
        // Handle signals before anything else, so that none is lost.
        let signals = StopSignals.stream([SIGINT, SIGTERM, SIGHUP])
        logOptions.redirectDiagnostics("waterh-gateway")
        let plan = try ServicePlan(link, storeOptions, keep: keep, listen: listen)
        let systemd = SystemdNotifier()
        let log = logOptions.logger(
            "waterh-gateway", link: "\(try plan.link.name)",
            logsDetails: link.verbose || Diagnostics.usesTerminalFeatures)
        for remark in plan.remarks { log.warning("\(remark)") }
        let host = try ServiceHost(plan, systemd, log: log)
        let pages = ServicePages(host, plan, log: log)
        log.notice("\(ProgramVersion.text) uses \(plan.summary); page: \(pages.listen).")
        let serving = Task { await pages.run(printsLink: TextOutput.standard.isTerminal) }
        let watchdog = Task { await systemd.keepAlive { await host.isOnTime } }
        systemd.notify("READY=1")

        var stopped = ExitStatus.done
        for await signal in signals {
            guard signal == SIGHUP else {
                stopped = StopSignals.status(for: signal)
                log.notice("\(ProgramVersion.text) stops on request.")
                break
            }
            log.notice("SIGHUP: polling now. A changed configuration takes effect when the service restarts.")
            await host.pollNow()
        }
        systemd.notify("STOPPING=1")
        serving.cancel()
        await host.close()
        await serving.value
        watchdog.cancel()
        if stopped != .done { throw ExitCode(stopped.rawValue) }
    }
}
