import Simulation
import Testing
import TrackerCore

/// A broker that becomes unreachable, and the detection of wrong messages.
@Suite struct BrokerDayTests {
    private static let latency = Duration.milliseconds(10)

    /// Twenty drinks are polled at noon, and the broker stops while it receives them; more follow during its absence.
    private static var day: Scenario {
        var day = Scenario(title: "A broker that goes")
        day.latency = latency
        for number in 0..<20 { day.steps.append(ScenarioStep(.seconds(3600 + 60 * number), .sip(ml: 100 + number))) }
        day.steps.append(ScenarioStep(.seconds(12 * 3600), .poll(.init())))
        day.steps.append(ScenarioStep(.seconds(12 * 3600) + .milliseconds(600), .brokerOutage(.seconds(7200))))
        for number in 0..<5 { day.steps.append(ScenarioStep(.seconds(13 * 3600 + 60 * number), .sip(ml: 30 + number))) }
        day.steps.append(ScenarioStep(.seconds(13 * 3600 + 1200), .poll(.init())))
        day.expectation.delivered = 25
        day.expectation.isDeliveredInOrder = true
        return day
    }

    private static func play(
        _ day: Scenario, _ replace: @escaping @Sendable (any ScenarioPublisher) -> any ScenarioPublisher = { $0 }
    ) throws -> World {
        var world = try World(day) { FaultyPublisherJournal(try StoreJournal(zone: day.zone.id), replace) }
        world.isLogging = true
        world.run()
        return world
    }

    @Test func `a broker outage repeats pending messages and sends the rest once in order`() throws {
        let world = try Self.play(Self.day)
        #expect(world.violations == [])
        #expect(world.outcome.delivered == 25)
        #expect(world.outcome.isDeliveredInOrder)
        // The broker received some of them before, but not all.
        #expect((1..<20).contains(world.outcome.redelivered), "\(world.outcome.redelivered): \(world.eventLog)")
        #expect(world.eventLog.contains { $0.line == "broker away for 7200.0 seconds" })
        #expect(world.eventLog.contains { $0.line == "The broker confirmed 25 drinks." }, "\(world.eventLog)")
    }

    @Test func `pending messages are sent again after a kill and after a suspend`() throws {
        var day = Self.day
        day.steps = day.steps.map { step in
            if case .brokerOutage = step.action { ScenarioStep(step.at, .kill) } else { step }
        }
        let killed = try Self.play(day)
        #expect(killed.violations == [])
        #expect((1..<20).contains(killed.outcome.redelivered), "\(killed.eventLog)")
        day.steps = day.steps.map { step in
            if case .kill = step.action { ScenarioStep(step.at, .sleep(.seconds(3600))) } else { step }
        }
        let slept = try Self.play(day)
        #expect(slept.violations == [])
        let delivery = try #require(slept.eventLog.first { $0.line.hasPrefix("The broker confirmed") })
        #expect(delivery.at >= .seconds(13 * 3600), "\(slept.eventLog)")
    }

    @Test func `a second kill continues from the second position`() throws {
        var day = Self.day
        day.steps.insert(
            ScenarioStep(.seconds(13 * 3600 + 1800), .brokerOutage(.seconds(4 * 3600))), at: day.steps.count)
        let world = try Self.play(day)
        #expect(world.violations == [])
        let delivery = try #require(world.eventLog.first { $0.line.hasPrefix("The broker confirmed") })
        #expect(delivery.at >= .seconds(17 * 3600 + 1800 + 60), "\(world.eventLog)")
    }

    @Test(arguments: FaultyPublisher.Fault.allCases)
    func `a publisher that drops, repeats, changes or invents messages is detected`(fault: FaultyPublisher.Fault) throws
    {
        let world = try Self.play(Self.day) { FaultyPublisher($0, fault) }
        let codes = Set(world.violations.map(\.code))
        #expect(codes.contains(fault.violation), "\(world.violations)")
    }

    @Test func `a scenario without a publisher has no broker`() {
        #expect(throws: (any Error).self) {
            try World(Self.day) { FaultyPublisherJournal(try StoreJournal(zone: "UTC"), { _ in nil }) }
        }
    }

    @Test func `a publisher without a broker sends nothing`() throws {
        var day = Self.day
        day.expectation = ScenarioExpectation()
        day.steps.removeAll { if case .brokerOutage = $0.action { true } else { false } }
        #expect(!day.hasBroker)
        let world = try Self.play(day)
        #expect(world.violations == [])
        #expect(world.outcome.delivered == 0)
    }
}

/// Corrupts the messages to the broker.
struct FaultyPublisher: ScenarioPublisher {
    enum Fault: CaseIterable {
        case confirmsUnsent, repeatsConfirmed, changesTime, changesAmount, invents, reversesOrder

        var violation: InvariantViolation.Code {
            switch self {
            case .confirmsUnsent, .changesTime, .changesAmount: .notDelivered
            case .repeatsConfirmed: .repeated
            case .invents: .invented
            case .reversesOrder: .expectation
            }
        }
    }

    private final class Memory { var confirmed: [PublishedDrink] = [] }

    private let base: any ScenarioPublisher
    private let fault: Fault
    private let memory = Memory()

    init(_ base: any ScenarioPublisher, _ fault: Fault) { (self.base, self.fault) = (base, fault) }

    func due(now: Instant) throws -> [PublishedDrink] {
        var due = try base.due(now: now)
        switch fault {
        case .confirmsUnsent: if let last = due.last { try base.confirmed(through: last.sequence) }
        case .repeatsConfirmed:
            if !due.isEmpty { due = memory.confirmed + due }
            memory.confirmed = due
        case .changesTime: for index in due.indices { due[index].at = due[index].at?.advanced(seconds: 60) }
        case .changesAmount: for index in due.indices { due[index].ml = 1 }
        case .invents:
            if let last = due.last {
                due.append(
                    PublishedDrink(sequence: last.sequence, id: "unknown", ml: 77, at: last.at, isDeleted: false))
            }
        case .reversesOrder: due.reverse()
        }
        return due
    }

    func confirmed(through sequence: Int64) throws {
        // In reverse order the last one is the first.
        try base.confirmed(
            through: fault == .reversesOrder
                ? try base.due(now: Instant(seconds: 0)).map(\.sequence).max() ?? sequence : sequence)
    }
}

/// The product's journal with another publisher.
private final class FaultyPublisherJournal: ScenarioJournal {
    private let base: StoreJournal
    private let replace: @Sendable (any ScenarioPublisher) -> (any ScenarioPublisher)?

    init(_ base: StoreJournal, _ replace: @escaping @Sendable (any ScenarioPublisher) -> (any ScenarioPublisher)?) {
        (self.base, self.replace) = (base, replace)
    }

    func openPublisher() throws -> (any ScenarioPublisher)? { try base.openPublisher().flatMap(replace) }
    var entries: [JournalEntry] { base.entries }
    func holds(_ raw: [UInt8]) -> Bool { base.holds(raw) }
    func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] { try base.append(entries) }
    func recall(_ names: BottleNames) throws -> BottleMemory { try base.recall(names) }
    func adopt(_ names: BottleNames) throws { try base.adopt(names) }
    func isOwn(_ bottle: String) throws -> Bool { try base.isOwn(bottle) }
    func unsettled(of bottle: String, reading: String, after id: Int64, limit: Int) throws -> [UnsettledRecord] {
        try base.unsettled(of: bottle, reading: reading, after: id, limit: limit)
    }
    func finishPoll(_ report: PollRecord) throws { try base.finishPoll(report) }
    func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try base.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: received)
    }
}
