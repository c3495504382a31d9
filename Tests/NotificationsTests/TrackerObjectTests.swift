import DBus
import DBusSupport
import Support
import Testing
import TrackerCore

@testable import Notifications

@Suite(.timeLimit(.minutes(2)))
struct TrackerObjectTests {
    struct NoSession: Problem {
        let code = "noActiveSession"
        let sentence = "There is no session running."
        let category = ProblemCategory.refused
    }

    private func object(_ bus: PrivateBus, _ name: String, instance: String? = nil) -> TrackerObject {
        TrackerObject(bus: { .address(bus.address) }, instance: instance) { action in
            switch action {
            case .logDrink(let preset): "\(name) drink \(preset ?? "usual")"
            case .logWater: throw NoSession()
            case .startSession: "\(name) started"
            case .endSession: "\(name) ended"
            case .getState: "\(name) state"
            }
        }
    }

    private func call(_ bus: PrivateBus, _ arguments: String...) async throws -> Program.Result {
        try await bus.run("busctl", ["call", TrackerObject.name, TrackerObject.path, TrackerObject.name] + arguments)
    }

    @Test func `the D-Bus object performs actions and returns the state`() async throws {
        let bus = try await PrivateBus()
        let object = object(bus, "one")
        let work = Task { await object.run() }
        #expect(try await eventually { try await call(bus, "GetState").output == "s \"one state\"\n" })
        #expect(try await call(bus, "LogDrink", "s", "").output == "s \"one drink usual\"\n")
        #expect(try await call(bus, "LogDrink", "s", "Beer").output == "s \"one drink Beer\"\n")
        #expect(try await call(bus, "StartSession").output == "s \"one started\"\n")
        #expect(try await call(bus, "EndSession").output == "s \"one ended\"\n")
        let refused = try await call(bus, "LogWater")
        #expect(refused.exitCode != 0 && refused.error.contains("There is no session running."))
        let wrong = try await call(bus, "LogDrink", "i", "5")
        #expect(wrong.exitCode != 0)
        work.cancel()
        await work.value
        #expect(try await call(bus, "GetState").exitCode != 0, "gone")
    }

    @Test func `each of two instances in a session has its own bus name`() async throws {
        let bus = try await PrivateBus()
        func ask(_ name: String) async throws -> String {
            try await bus.run("busctl", ["call", name, TrackerObject.path, TrackerObject.name, "GetState"]).output
        }
        let objects = [object(bus, "anna", instance: "Anna-B"), object(bus, "ben", instance: "ben")]
        let work = objects.map { object in Task { await object.run() } }
        for (name, answer) in [("Anna-B", "anna"), ("ben", "ben")] {
            #expect(
                try await eventually {
                    try await ask(TrackerObject.name(ofInstance: name)) == "s \"\(answer) state\"\n"
                })
        }
        for task in work {
            task.cancel()
            await task.value
        }
    }

    @Test func `a second service takes over the D-Bus name`() async throws {
        let bus = try await PrivateBus()
        let (first, second) = (object(bus, "one"), object(bus, "two"))
        let work = Task { await first.run() }
        #expect(try await eventually { try await call(bus, "GetState").exitCode == 0 })
        let next = Task { await second.run() }
        #expect(try await call(bus, "GetState").output == "s \"one state\"\n")
        work.cancel()
        #expect(try await eventually { try await call(bus, "GetState").output == "s \"two state\"\n" })
        next.cancel()
        await next.value
    }
}
