import Bluetooth
import CommandStore
import Gateway

/// One way to bottles, with the polls of everybody who shares it: one at a time, each into the store of whose bottle it
/// is.
actor Adapter {
    private let driver: GatewayDriver
    private let house: @Sendable () async -> HouseholdBottles
    private let clock: DriverClock
    private let flight: FlightRecorder
    private let stir: AsyncStream<HeldConnection.News>.Continuation
    private let stirrings: AsyncStream<HeldConnection.News>
    private var members: [Resident] = []
    /// Whose poll is under way.
    private var polling: Resident?
    /// Whose bottle's connection is kept.
    private var holding: Resident?
    private var work: [Task<Void, Never>] = []
    private var made: PollService?

    /// - Parameter house: whose bottles are whose.
    init(_ central: any CentralLink, clock: DriverClock, house: @escaping @Sendable () async -> HouseholdBottles) {
        self.clock = clock
        self.house = house
        let flight = FlightRecorder()
        self.flight = flight
        driver = GatewayDriver(link: central, clock: clock) { flight.note($0) }
        (stirrings, stir) = AsyncStream.makeStream(of: HeldConnection.News.self, bufferingPolicy: .bufferingNewest(16))
    }

    /// What polls here, once somebody has joined.
    var service: PollService {
        if let made { return made }
        let service = PollService(surroundings, clock: clock)
        made = service
        return service
    }

    /// Polls for this person, too. To be called when the house knows whose bottles are whose with this person in it.
    func join(_ resident: Resident) async {
        members.append(resident)
        let service = service
        guard work.isEmpty else { return await service.wake() }
        let stirrings = stirrings
        work = [
            Task { await service.run() },
            Task {
                for await news in stirrings { await news == .lost ? service.connectionLost() : service.bottleStirred() }
            },
        ]
    }

    /// Returns when no poll is made for this person any more, and no connection of theirs is kept.
    func leave(_ resident: Resident) async {
        members.removeAll { $0 === resident }
        if polling === resident { await driver.stop() }
        // Between two polls: the one under way is over then.
        var options = PollOptions(zone: .utc)
        (options.job, options.person) = (.letGo, resident.listed)
        _ = await service.run(options)
    }

    var isDeserted: Bool { members.isEmpty }

    /// Returns when the poll under way is over, no connection is kept and the link is closed.
    func close() async {
        for task in work { task.cancel() }
        await work.first?.value
        await driver.close()
    }

    private nonisolated var surroundings: PollService.Surroundings {
        let driver = driver
        return PollService.Surroundings(
            look: { await self.look() },
            options: { plan in await self.member(plan.person)?.desk.options(plan) },
            poll: { await self.poll($0) },
            isConnected: { await driver.isHolding },
            isPollOnTime: { await driver.isOnTime(grace: $0) },
            afterPoll: { report, options in await self.member(options.person)?.afterPoll(report, options) },
            say: { news in await self.member(news.plan.person)?.desk.tell(news) })
    }

    private func member(_ listed: String?) -> Resident? { members.first { $0.listed == listed } }

    private func look() async -> [BottleDay] {
        let household = await house()
        var days: [BottleDay] = []
        for member in members { days += await member.desk.look(household) }
        return days
    }

    private func poll(_ options: PollOptions) async -> PollReport {
        let isEnd = options.job == .letGo
        // To let go is everybody's, or that of whose connection it is.
        let whose =
            isEnd
            ? (options.person == nil || holding?.listed == options.person ? holding : nil) : member(options.person)
        guard let whose else {
            var report = PollReport(
                failure: isEnd ? nil : PollFailure(.interrupted, "its person is not served any more."))
            report.isConnected = await driver.isHolding
            return report
        }
        if let holding, holding !== whose { holding.board.lost() }
        polling = whose
        flight.begin(for: whose.store.path)
        whose.board.begin()
        let report = await driver.poll(
            options, for: GatewayDriver.Party(journal: whose.store, outlets: whose.outlets(stir)))
        if let trouble = flight.end(report, keptBeside: whose.store.path, clock) {
            whose.log.warning("The capture of this poll is not kept: \(trouble)")
        }
        await whose.board.end(report, isPoll: options.job == .poll, at: Machine.now())
        polling = nil
        holding = report.isConnected ? whose : nil
        return report
    }
}
