import Simulation
import Store
import Testing
import TrackerCore

@Suite struct ScenarioTests {
    private static func play(_ scenario: Scenario) throws -> (world: World, events: [String]) {
        var events: [String] = []
        var world = try World(scenario) { try TrackerStore(inMemory: scenario.zone.id) }
        world.onEvent = { events.append($0) }
        world.run()
        return (world, events)
    }

    @Test(arguments: ScenarioTable.all)
    func `a simulated scenario ends with its expected drinks and acknowledgements`(scenario: Scenario) throws {
        let (world, events) = try Self.play(scenario)
        #expect(world.violations == [], "\(events.joined(separator: "\n"))")
    }

    @Test func `a run reports expected and found values when an expected result is missed`() throws {
        var scenario = Scenario(title: "one sip")
        scenario.steps = [
            ScenarioStep(.seconds(8 * 3600), .sip(ml: 100)), ScenarioStep(.seconds(9 * 3600), .poll(.init())),
        ]
        (scenario.expectation.sips, scenario.expectation.reported) = (2, ["notFound"])
        let (world, events) = try Self.play(scenario)
        #expect(
            world.violations.map(\.sentence) == [
                "sips: 2 expected, 1 found", "reported: notFound expected, found: nothing",
            ])
        #expect(world.violations.allSatisfy { $0.code == .expectation })
        #expect(events.contains { $0.hasSuffix(" The gateway polled: 1 received, 1 new, 1 acknowledged.") })
    }
}

extension Scenario: CustomTestStringConvertible {
    public var testDescription: String { title }
}
