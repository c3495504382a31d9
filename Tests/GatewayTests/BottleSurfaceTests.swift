import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

/// The light and the goal of the bottle, written after the log without an effect on it.
@Suite struct BottleSurfaceTests {
    private static let gentle = HostCommand.light(ReminderLight(mode: 2, red: 0xFF, green: 0xB3, blue: 0))
    private static let strong = HostCommand.light(ReminderLight(mode: 1, red: 0xE5, green: 0x39, blue: 0x35))
    private static let dark = HostCommand.light(ReminderLight(mode: 0, red: 0, green: 0, blue: 0))

    private static func bottle() -> ScriptedBottle {
        var bottle = ScriptedBottle(records: [sampleRecord])
        bottle.snapshot = boostSnapshot(goal: 2000, amount: 16)
        return bottle
    }

    @Test(arguments: [(BottleLight.gentle, [gentle]), (.strong, [strong, .flash]), (.off, [dark])])
    func `the light is written after the log's acknowledgement, and then stored`(
        light: BottleLight, commands: [HostCommand]
    ) throws {
        let (rig, report) = try polled(Self.bottle()) { ($0.todayTotal, $0.light) = (16, light) }
        #expect(report.failure == nil && report.complete && report.acknowledged == 1)
        #expect(rig.written.suffix(commands.count + 2) == [.acknowledge(bytes: 13), .drinkLog] + commands)
        #expect(
            rig.effects.filter { if case .lightWritten = $0 { true } else { false } } == [
                .lightWritten(bottle: ownAddress, light)
            ])
    }

    @Test func `the light is written only to a real bottle and only when it changes`() throws {
        let rig = try polled(Self.bottle()) { $0.todayTotal = 16 }.rig
        #expect(rig.written == [.snapshot, .drinkLog, .drinkLog, .acknowledge(bytes: 13), .drinkLog])
        let recording = try polled(Self.bottle(), options: options { $0.markAsReplay() }) { $0.light = .strong }.rig
        #expect(!recording.written.contains(Self.strong))
    }

    enum Failure: CaseIterable { case refuses, hangsUp, saysNothing, isGone }

    /// Answers log requests and does not accept light commands.
    private static func bottleWithoutLight(_ trouble: Failure) -> ChangedBottle {
        ChangedBottle(bottle: bottle()) { _, request, _ in
            guard case .write(let handle, let value, _) = request, case .light = HostCommand(decoding: value) else {
                return nil
            }
            switch trouble {
            case .refuses: return [(.milliseconds(5), .writeFailed(handle: handle, LinkError(.refused, "no")))]
            case .hangsUp: return [(.milliseconds(5), .disconnected(nil))]
            case .saysNothing: return []
            case .isGone: return [(.milliseconds(5), .unavailable(LinkError(.serviceLost, "gone")))]
            }
        }
    }

    @Test(arguments: Failure.allCases) func `a light that cannot be written does not fail the poll`(_ trouble: Failure)
        throws
    {
        let (rig, report) = try polled(
            Self.bottleWithoutLight(trouble), options: options { $0.keepsConnection = true }
        ) { ($0.todayTotal, $0.light) = (16, .strong) }
        #expect(report.failure == nil && report.complete, "\(String(describing: report.failure))")
        #expect([report.new, report.acknowledged] == [1, 1])
        #expect(rig.peer.bottle.connections == 1, "the light causes no second connection")
        #expect(!rig.effects.contains { if case .lightWritten = $0 { true } else { false } })
        #expect(rig.journal.polls.map(\.complete) == [true])
        // A connection without answers is not kept.
        #expect(report.isConnected == (trouble == .refuses))
    }

    @Test func `the goal from the bottle's settings is written if it differs`() throws {
        var settings = Settings()
        try settings.set("hydration.goalMl", to: "2500")
        func poll(goal: Int, own: [AdoptedBottle] = []) throws -> (rig: EngineRig<ScriptedBottle>, report: PollReport) {
            var options = PollOptions(settings: settings.bottle, zone: .utc, goalMl: 2500)
            options.ownBottles = own
            var bottle = Self.bottle()
            bottle.snapshot = boostSnapshot(goal: goal, amount: 16)
            return try polled(bottle, options: options)
        }
        #expect(try !poll(goal: 2000).rig.written.contains(.goal(ml: 2500)))
        try settings.set("bottle.showGoal", to: "true")
        let asked = try poll(goal: 2000)
        #expect(asked.report.snapshot?.goalMl == 2500)
        #expect(asked.rig.written.last == .goal(ml: 2500), "after the log")
        #expect(try !poll(goal: 2500).rig.written.contains(.goal(ml: 2500)))
        // Settings of one bottle take precedence.
        let own = AdoptedBottle(identities: [ownAddress], settings: BottleSettings())
        #expect(try !poll(goal: 2000, own: [own]).rig.written.contains(.goal(ml: 2500)))
    }

    /// A bottle with a goal of its own accepts the command and keeps its goal: repeated writes would make it blink at
    /// every poll.
    @Test func `a goal that the bottle rejected is not written again`() throws {
        let stubborn = ChangedBottle(bottle: Self.bottle()) { _, request, _ in
            guard case .write(let handle, let value, _) = request, HostCommand(decoding: value) == .goal(ml: 2500)
            else { return nil }
            return [(.milliseconds(1), .wrote(handle: handle))]
        }
        let wanted = options { $0.goalMl = 2500 }
        let (rig, first) = try polled(stubborn, options: wanted)
        #expect(first.failure == nil && rig.written.contains(.goal(ml: 2500)))
        var next = wanted
        next.history = first.history
        let second = try polled(stubborn, options: next).rig
        #expect(!second.written.contains(.goal(ml: 2500)))
        next.goalMl = 2600
        let third = try polled(stubborn, options: next).rig
        #expect(third.written.contains(.goal(ml: 2600)))
    }
}
