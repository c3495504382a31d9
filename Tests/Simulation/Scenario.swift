import BottleProtocol
import TrackerCore
import Emulator

/// A bad day as a value: who takes part, what happens when, and what must hold at the end.
package struct Scenario: Hashable, Sendable, CustomStringConvertible {
    /// One line.
    package var title: String
    /// Of everything that chance decides: the same seed gives the same day.
    package var seed: UInt64
    /// Who the bottle is.
    package var bottle = Emulator.BottleIdentity()
    /// What it does wrong all the while.
    package var habits = BottleFaults()
    /// From one end of the link to the other.
    package var latency = Duration.milliseconds(2)
    /// When it begins.
    package var start = Scenario.usualStart
    /// The zone of the host, and of the bottle's clock.
    package var zone = Zone.utc
    /// A time server keeps the host's clock right, and says so while it is.
    package var hasTimeServer = false
    /// In the order in which they happen; at the same time, as they stand.
    package var steps: [ScenarioStep] = []
    /// Journal writes (by number from 0, over the whole run) that fail.
    package var failingWrites: Set<Int> = []
    /// What must hold at the end.
    package var promise = ScenarioPromise()

    /// Steps in one scenario, repetitions counted.
    package static let stepLimit = 20_000
    /// 2026-06-15T00:00:00Z.
    package static let usualStart = Instant(seconds: 1_781_481_600)

    /// Everything that differs from a plain bottle and host, and one line per step.
    package var description: String {
        var lines = [
            "\(title): \(bottle.profile) \(bottle.model), \(zone.id), latency \(latency)"
                + (habits.text.isEmpty ? "" : ", faults \(habits.text)") + (hasTimeServer ? ", time server" : "")
        ]
        if !failingWrites.isEmpty { lines.append("failing writes \(failingWrites.sorted())") }
        return (lines + steps.map { "  \($0)" }).joined(separator: "\n")
    }

    /// A day on which nothing happens.
    package init(title: String, seed: UInt64 = 0) {
        self.title = title
        self.seed = seed
    }

    /// In order.
    package var polls: [ScenarioStep.Poll] {
        steps.compactMap { if case .poll(let poll) = $0.act { poll } else { nil } }
    }

    /// Somebody takes the broker away, or something is promised of what it hears: without either there is none.
    package var hasBroker: Bool {
        promise.heard != nil || promise.heardAgain != nil || promise.hearsInOrder
            || steps.contains { if case .brokerAway = $0.act { true } else { false } }
    }

    /// The host's clock is off by a day or more for a while, or is not the one that the bottle's is read by, or the
    /// bottle writes no year: dates are compared with what really was, not with what the bottle wrote.
    var isDated: Bool {
        zone == .utc && bottle.dialect != .strict
            && !steps.contains {
                switch $0.act {
                case .hostClock(let by): by >= .seconds(86_400) || by <= .seconds(-86_400)
                case .zone, .sleep: true
                default: false
                }
            }
    }
}
