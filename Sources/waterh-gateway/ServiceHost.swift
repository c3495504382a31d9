import Bluetooth
import CommandSupport
import Gateway
import WebServer
import Logging
import Store
import TrackerService

/// The running service: one store, one link, and everything that follows a poll.
final class ServiceHost: Sendable {
    let resident: Resident
    let page: Person
    let address = PageAddress()
    private let adapter: Adapter
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
        let resident = Resident(
            plan, provider, supervisor: supervisor, log: log, clock: clock, desktopPages: hasDesktop ? address : nil)
        if provider.store.path != ":memory:",
            ServiceSocket(path: ServiceSocket.own(forStore: provider.store.path)).isAnswering
        {
            log.warning(
                """
                Another service keeps this store. Both poll, and each record is stored once; only one of them can \
                connect to a broker. Stop one of them.
                """
            )
        }
        let adapter = Adapter(central, resident, clock: clock)
        let scanner = BottleScanner(adapter, resident.desk, log: log) { await resident.notify($0) }
        let page = resident.page(adapter.service, scanner)
        (self.resident, self.adapter, self.page) = (resident, adapter, page)
        work = [Task { await adapter.run() }, Task { await resident.run(page) }, Task { await scanner.run() }]
    }

    func pollNow() async { await adapter.service.pollNow() }

    func metrics() async -> String {
        let store = resident.store
        return await resident.board.metrics(
            of: try? TrackerDesk.ownBottles(of: store), store: (store.bytes, try? store.outboxDepth()))
    }

    /// Whether polls meet their deadlines.
    var isOnTime: Bool { get async { await adapter.service.isOnTime() } }

    func close() async {
        for task in work { task.cancel() }
        for task in work { await task.value }
    }
}
