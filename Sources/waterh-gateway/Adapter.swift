import Bluetooth
import CommandSupport
import Gateway

/// The link to a store's bottles, with their polls: one at a time.
final class Adapter: Sendable {
    let service: PollService
    private let driver: GatewayDriver
    private let stirrings: AsyncStream<ConnectionNews>

    init(_ central: any CentralLink, _ resident: Resident, clock: DriverClock) {
        let flight = FlightRecorder()
        let driver = GatewayDriver(link: central, clock: clock) { flight.note($0) }
        let (stirrings, stir) = AsyncStream.makeStream(
            of: ConnectionNews.self, bufferingPolicy: .bufferingNewest(16))
        (self.driver, self.stirrings) = (driver, stirrings)
        let path = resident.store.path
        service = PollService(
            PollService.Surroundings(
                look: { await resident.desk.look() },
                options: { await resident.desk.options($0) },
                poll: { options in
                    let isHolding = await driver.isHolding
                    guard options.job != .letGo || isHolding else { return PollReport() }
                    flight.begin(for: path)
                    resident.board.begin()
                    let report = await driver.poll(
                        options, for: GatewayDriver.Party(journal: resident.store, outlets: resident.outlets(stir)))
                    if let trouble = flight.end(report, keptBeside: path, clock) {
                        resident.log.warning("The capture of this poll is not kept: \(trouble)")
                    }
                    await resident.board.end(report, isPoll: options.job == .poll, at: Machine.now())
                    return report
                },
                isConnected: { await driver.isHolding },
                isPollOnTime: { await driver.isOnTime(grace: $0) },
                afterPoll: { await resident.afterPoll($0, $1) },
                say: { await resident.desk.tell($0) }), clock: clock)
    }

    /// Polls until the task is cancelled. When this returns, no poll is under way and the link is closed.
    func run() async {
        let (service, stirrings, driver) = (service, stirrings, driver)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await service.run() }
            group.addTask {
                for await news in stirrings { await news == .lost ? service.connectionLost() : service.bottleStirred() }
            }
        }
        // Outside of the cancelled task.
        await Task { await driver.close() }.value
    }
}
