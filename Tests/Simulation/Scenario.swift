import BottleProtocol
package import Emulator
package import TrackerCore

/// A failure scenario as a value: the participants, the events, and the expected results.
package struct Scenario: Hashable, Sendable, CustomStringConvertible {
    package var title: String
    /// Seeds all random choices: the same seed gives the same day.
    package var seed: UInt64
    package var bottle = Emulator.BottleIdentity()
    /// Faults of the bottle during the whole day.
    package var faults = BottleFaults()
    /// The delay of each PDU in one direction.
    package var latency = Duration.milliseconds(2)
    package var start = Instant(seconds: 1_781_481_600)
    /// The zone of the host and of the bottle's clock.
    package var zone = Zone.utc
    /// A time server keeps the host's clock correct and reports this.
    package var hasTimeServer = false
    /// In the order of their times, then of this list.
    package var steps: [ScenarioStep] = []
    /// The numbers of the failing journal writes, from 0, over the whole run.
    package var failingWrites: Set<Int> = []
    package var expectation = ScenarioExpectation()

    /// All deviations from a plain bottle and host, and one line per step.
    package var description: String {
        var lines = [
            "\(title): \(bottle.profile) \(bottle.model), \(zone.id), latency \(latency)"
                + (faults.text.isEmpty ? "" : ", faults \(faults.text)") + (hasTimeServer ? ", time server" : "")
        ]
        if !failingWrites.isEmpty { lines.append("failing writes \(failingWrites.sorted())") }
        return (lines + steps.map { "  \($0)" }).joined(separator: "\n")
    }

    package init(title: String, seed: UInt64 = 0) {
        self.title = title
        self.seed = seed
    }

    package var polls: [ScenarioStep.Poll] {
        steps.compactMap { if case .poll(let poll) = $0.action { poll } else { nil } }
    }

    /// Whether the journal must have the dates that the bottle wrote; otherwise it must have the true times. `false` if
    /// the host's clock jumps by a day or more, the zone is not UTC or changes, the host sleeps, or the dialect is
    /// strict.
    var expectsBottleDates: Bool {
        zone == .utc && bottle.dialect != .strict
            && !steps.contains {
                switch $0.action {
                case .hostClock(let by): by >= .seconds(86_400) || by <= .seconds(-86_400)
                case .zone, .sleep: true
                default: false
                }
            }
    }
}
