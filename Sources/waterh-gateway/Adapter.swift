import Bluetooth
import CommandSupport
import Gateway
import Synchronization
import TrackerCore

/// The link to a store's bottles, with one poll at a time.
final class Adapter: Sendable {
    let service: PollService
    private let driver: GatewayDriver
    private let stirrings: AsyncStream<ConnectionNews>
    private let looked: Looked

    /// Records that jobs `.look` read, by the bottle that was named.
    private final class Looked: Sendable {
        let records = Mutex<[String: [JournalEntry]]>([:])
    }

    init(_ central: any CentralLink, _ resident: Resident, clock: DriverClock) {
        let recorder = PollRecorder()
        let driver = GatewayDriver(link: central, clock: clock) { recorder.note($0) }
        let (stirrings, stir) = AsyncStream.makeStream(
            of: ConnectionNews.self, bufferingPolicy: .bufferingNewest(16))
        (self.driver, self.stirrings) = (driver, stirrings)
        let path = resident.store.path
        let looked = Looked()
        self.looked = looked
        service = PollService(
            PollService.Surroundings(
                look: { await resident.desk.look() },
                options: { await resident.desk.options($0) },
                poll: { options in
                    let isHolding = await driver.isHolding
                    guard options.job != .disconnect || isHolding else { return PollReport() }
                    resident.board.begin()
                    var context = GatewayDriver.Context(journal: resident.store, outlets: resident.outlets(stir))
                    if options.job == .look {
                        let bottle = options.bottle ?? ""
                        looked.records.withLock { $0[bottle] = nil }
                        context.journal = NoJournal()
                        context.outlets.journaled = { entries, _ in
                            looked.records.withLock { $0[bottle, default: []] += entries }
                        }
                    }
                    let report = await driver.poll(options, for: context)
                    if let trouble = recorder.end(report, keptBeside: path, clock) {
                        resident.log.warning("Saving the capture of this poll failed: \(trouble)")
                    }
                    await resident.board.end(report, isPoll: options.job == .poll, at: Machine.now())
                    return report
                },
                isConnected: { await driver.isHolding },
                isPollOnTime: { await driver.isOnTime(grace: $0) },
                afterPoll: { await resident.afterPoll($0, $1) },
                say: { await resident.desk.tell($0) }), clock: clock)
    }

    /// The records that the last job `.look` of this bottle read.
    func takeRecords(of bottle: String) -> [JournalEntry] {
        looked.records.withLock { $0.removeValue(forKey: bottle) ?? [] }
    }

    func run() async {
        let (service, stirrings, driver) = (service, stirrings, driver)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await service.run() }
            group.addTask {
                for await news in stirrings { await news == .lost ? service.connectionLost() : service.bottleStirred() }
            }
        }
        // Close in a task that cannot be cancelled.
        await Task { await driver.close() }.value
    }
}
