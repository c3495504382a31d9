import Bluetooth
import CommandSupport
import Gateway
import Logging
import Store
import TrackerCore
import TrackerService
import WebServer

/// The running service: one store, one link, the polls, and the publication of their results.
final class ServiceHost: Sendable {
    let runtime: PersonRuntime
    let page: Person
    let address = PageAddress()
    private let polls: PollService
    private let driver: GatewayDriver
    private let work: [Task<Void, Never>]

    /// Opens the store and the link, and starts polling.
    /// - Parameters:
    ///   - hasDesktop: whether notifications go to the desktop of this session.
    ///   - open: opens the link.
    init(
        _ plan: ServicePlan, _ supervisor: Supervisor, log: Logger, hasDesktop: Bool = true,
        open: (LinkOptions) throws -> any CentralLink = { try $0.open() }
    ) throws {
        let provider = try StoreProvider(plan.store, zone: plan.zone)
        let central = try open(plan.link)
        log.debug(
            """
            Service on \(central.name)\(plan.link.allowPowerCycle ? ", power cycling allowed" : "")\
            \(plan.trustsClock ? "; the clock is trusted" : "").
            """)
        let clock = DriverClock.system(wall: { Machine.now() })
        let runtime = PersonRuntime(
            plan, provider, supervisor: supervisor, log: log, clock: clock, desktopPages: hasDesktop ? address : nil)
        if provider.store.path != ":memory:",
            ServiceSocket(path: ServiceSocket.listeningPath(forStore: provider.store.path)).isAnswering
        {
            log.warning(
                """
                Another service uses this store. Both poll, and each record is stored once, but only one of them can \
                connect to a broker. Stop one of them.
                """
            )
        }
        let (news, newsReceiver) = AsyncStream.makeStream(
            of: ConnectionEvent.self, bufferingPolicy: .bufferingNewest(16))
        let recorder = PollRecorder()
        let driver = GatewayDriver(link: central, clock: clock) { recorder.record($0) }
        let polls = PollService(
            PollService.Dependencies(
                loadBottles: { await runtime.tracker.scheduledBottles() },
                options: { await runtime.tracker.options($0) },
                poll: { options in
                    if options.job == .disconnect, await !driver.isKeepingConnection { return PollReport() }
                    runtime.pollHistory.begin()
                    let journal: any Journal = options.job == .inspect ? NoJournal() : runtime.store
                    let report = await driver.poll(
                        options, journal: journal, callbacks: runtime.callbacks(newsReceiver))
                    if let problem = recorder.end(report, nextTo: runtime.store.path, clock) {
                        log.warning("Saving the capture of the poll failed: \(problem)")
                    }
                    await runtime.pollHistory.end(report, isPoll: options.job == .poll, at: Machine.now())
                    return report
                },
                isConnected: { await driver.isKeepingConnection },
                isPollOnTime: { await driver.isOnTime(grace: $0) },
                afterPoll: { await runtime.afterPoll($0, $1) },
                log: { await runtime.tracker.report($0) }), clock: clock)
        let scanner = BottleScanner(polls, runtime.tracker, log: log) { await runtime.notify($0) }
        let page = runtime.page(polls, scanner)
        (self.runtime, self.page, self.polls, self.driver) = (runtime, page, polls, driver)
        work = [
            Task { await polls.run() },
            Task {
                for await event in news { await event == .lost ? polls.connectionLost() : polls.bottleReported() }
            },
            Task { await runtime.run(page) }, Task { await scanner.run() },
        ]
    }

    func pollNow() async { await polls.pollNow() }

    func metrics() async -> String {
        let store = runtime.store
        return await runtime.pollHistory.metrics(
            of: try? TrackerAPI.adoptedBottles(of: store), store: (store.bytes, try? store.outboxDepth()))
    }

    /// Whether polls meet their deadlines.
    var isOnTime: Bool { get async { await polls.isOnTime() } }

    func close() async {
        for task in work { task.cancel() }
        for task in work { await task.value }
        // Close in a new task, which a cancelled caller does not cancel.
        await Task { await driver.close() }.value
    }
}
