import Bluetooth
import Emulator

/// Minimises a failing day: fewer steps, then fewer faults, then simpler values, as long as the same invariant breaks.
///
/// Delta debugging over the timeline (Zeller's ddmin): omits large parts, then smaller ones, down to single steps.
/// Deterministic.
package struct ScenarioShrinker {
    private let play: (Scenario) throws -> [InvariantViolation]
    private let limit: Int
    private let isOver: () -> Bool

    /// - Parameters:
    ///   - limit: the maximum number of days to run.
    ///   - isOver: called before each day; `true` ends the search.
    ///   - play: runs a day and returns the broken invariants.
    package init(
        limit: Int = 3000, isOver: @escaping () -> Bool = { false },
        play: @escaping (Scenario) throws -> [InvariantViolation]
    ) {
        (self.limit, self.isOver, self.play) = (limit, isOver, play)
    }

    /// `nil` if no invariant breaks.
    package func shrunk(_ scenario: Scenario) throws -> Scenario? {
        guard let promise = try play(scenario).first else { return nil }
        var search = Search(best: scenario, code: promise.code, left: limit, isOver: isOver, play: play)
        var before: Scenario
        repeat {
            before = search.best
            try search.leaveOutSteps()
            try search.leaveOutFaults()
            try search.simplify()
        } while search.best != before && search.left > 0
        return search.best
    }

    private struct Search {
        var best: Scenario
        let code: InvariantViolation.Code
        var left: Int
        let isOver: () -> Bool
        let play: (Scenario) throws -> [InvariantViolation]

        mutating func tries(_ candidate: Scenario) throws -> Bool {
            guard left > 0, candidate != best else { return false }
            guard !isOver() else {
                left = 0
                return false
            }
            left -= 1
            guard try play(candidate).contains(where: { $0.code == code }) else { return false }
            best = candidate
            return true
        }

        mutating func leaveOutSteps() throws {
            var size = max(1, best.steps.count / 2)
            while true {
                var start = 0
                while start < best.steps.count {
                    var candidate = best
                    candidate.steps.removeSubrange(start..<min(start + size, candidate.steps.count))
                    // The next part has moved into this position.
                    if try !tries(candidate) { start += size }
                }
                guard size > 1 else { return }
                size /= 2
            }
        }

        mutating func leaveOutFaults() throws {
            for write in best.failingWrites.sorted() {
                var candidate = best
                candidate.failingWrites.remove(write)
                _ = try tries(candidate)
            }
            for word in best.habits.words {
                let rest = best.habits.words.filter { $0 != word }.joined(separator: ",")
                guard let habits = try? BottleFaults(rest) else { continue }
                var candidate = best
                candidate.habits = habits
                _ = try tries(candidate)
            }
            for index in best.steps.indices {
                guard case .poll(let poll) = best.steps[index].act else { continue }
                var simpler = poll
                func take(_ change: (inout ScenarioStep.Poll) -> Void) throws {
                    var changed = simpler
                    change(&changed)
                    var candidate = best
                    candidate.steps[index].act = .poll(changed)
                    if try tries(candidate) { simpler = changed }
                }
                try take { $0.killAfter = nil }
                try take { $0.beforeIt = false }
                try take { $0.link.mtu = nil }
                for number in poll.link.faults.indices.reversed() where number < simpler.link.faults.count {
                    try take { $0.link.faults.remove(at: number) }
                }
            }
        }

        mutating func simplify() throws {
            func take(_ change: (inout Scenario) -> Void) throws {
                var candidate = best
                change(&candidate)
                _ = try tries(candidate)
            }
            try take { $0.hasTimeServer = false }
            try take { $0.latency = .milliseconds(2) }
            try take { $0.bottle = Emulator.BottleIdentity(profile: $0.bottle.profile) }
            try take { $0.bottle = Emulator.BottleIdentity() }
            for index in best.steps.indices {
                if case .sip(let ml) = best.steps[index].act, ml != 100 {
                    try take { $0.steps[index].act = .sip(ml: 100) }
                }
                // Round times, as long as the order stays.
                for unit in [3_600_000_000, 60_000_000, 1_000_000] as [Int64] {
                    let micros = best.steps[index].at.microseconds
                    let round = Duration.microseconds(micros / unit * unit)
                    guard round != best.steps[index].at, index == 0 || best.steps[index - 1].at < round else {
                        continue
                    }
                    try take { $0.steps[index].at = round }
                }
            }
        }
    }
}
