import BottleProtocol
import Bluetooth
import Support
import Emulator

extension Scenario {
    private static let sipsInPoll = 3

    package init(seed: UInt64) {
        self.init(title: "Seed \(seed) of the simulation", seed: seed)
        var random = SeededGenerator(seed: seed)
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        bottle = Emulator.BottleIdentity(
            profile: chance(60) ? .retail : .draft, model: chance(70) ? .boost : .vita, dialect: .calendar)
        latency = .microseconds(Int.random(in: 100...4000, using: &random))
        faults[.ring] = chance(30) ? Int.random(in: 1...30, using: &random) : 500
        if chance(30) {
            // The bottle drops its oldest record. `ReadingAgreement` limits how small its ring can be for the drinks of
            // one poll.
            faults[.counts] = 1
            faults[.ring] = max(faults[.ring], 2 * Self.sipsInPoll)
        }
        if bottle.profile == .retail, chance(30) {
            faults[.frame] = [16, 16, 8, 32].randomElement(using: &random) ?? 16
        }
        if chance(15) { faults[.early] = Int.random(in: 100...1500, using: &random) }
        if chance(10) { faults[.ignore] = 20 }
        if chance(10) { faults[.resend] = Int.random(in: 1...12, using: &random) }
        if chance(10) { faults[.forget] = 50 }
        if chance(25) { faults[.interleave] = 30 }
        if chance(8) { faults[.restart] = 50 }
        if chance(8) { faults[.shuffle] = 1 }
        if chance(8), faults[.shuffle] == 0 { faults[.split] = Int.random(in: 18...60, using: &random) }
        if chance(5) { faults[.lie] = 30 }
        if chance(20) { faults[.drift] = Int.random(in: -2000...2000, using: &random) }

        var actions: [ScenarioStep] = []
        var polls: [ScenarioStep] = []
        func add(_ at: Duration, _ action: ScenarioStep.Action) { actions.append(ScenarioStep(at, action)) }

        // Drinks before the first poll, then an hour of polls with more drinks between and during them. With small
        // pieces the last of seven entries leaves a rest of a record's size.
        let day =
            faults[.split] > 0 && chance(50)
            ? 8 * Int.random(in: 0...4, using: &random) + 7 : Int.random(in: 0...40, using: &random)
        for _ in 0..<day {
            add(.seconds(Int.random(in: 0..<36_000, using: &random)), .sip(ml: Int.random(in: 0...700, using: &random)))
        }
        // Sometimes over several days, several times a day.
        let count = Int.random(in: 2...5, using: &random)
        let pause = chance(25) ? Int.random(in: 3_600...43_200, using: &random) : 300
        for index in 0..<count {
            let start = Duration.seconds(36_000 + index * pause)
            let poll = ScenarioStep.Poll(
                link: Self.linkFaults(&random, isSplitInsideRecords: faults[.split] > 0),
                killAfter: chance(25) ? Int.random(in: 1...90, using: &random) : nil, killsBeforeEffect: chance(50))
            polls.append(ScenarioStep(start, .poll(poll)))
            // At most one drink per second.
            for sip in 0..<Int.random(in: 0...Self.sipsInPoll, using: &random) {
                add(
                    start + .milliseconds(sip * 2000 + Int.random(in: 0..<1000, using: &random)),
                    .sip(ml: Int.random(in: 1...300, using: &random)))
            }
            if pause > 300 {
                for _ in 0..<Int.random(in: 0...20, using: &random) {
                    add(
                        start + .seconds(Int.random(in: 250..<(pause - 50), using: &random)),
                        .sip(ml: Int.random(in: 1...300, using: &random)))
                }
            }
            if chance(20) {
                add(
                    start + .seconds(Int.random(in: 40..<250, using: &random)),
                    .sip(ml: Int.random(in: 1...300, using: &random)))
            }
            if chance(10) {
                add(start - .seconds(5), .hostClock(.seconds(Int.random(in: -3600...3600, using: &random))))
            }
            if chance(10) {
                add(start - .seconds(4), .bottleClock(.seconds(Int.random(in: -5000...5000, using: &random))))
            }
            if chance(6) { add(start - .seconds(3), .powerLoss) }
            if chance(10) { add(start + .seconds(Int.random(in: 35..<200, using: &random)), .restart) }
        }
        if chance(50) {
            failingWrites = Set(
                (0..<Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: 0..<10, using: &random) })
        }
        // A generator of its own, so that each seed keeps the rest of its scenario.
        var extraRandom = SeededGenerator(seed: ~seed)
        hasTimeServer = Int.random(in: 0..<100, using: &extraRandom) < 40
        if Int.random(in: 0..<100, using: &extraRandom) < 35, let poll = polls.randomElement(using: &extraRandom) {
            let seconds =
                Int.random(in: 3...80, using: &extraRandom) * 86_400 * (Bool.random(using: &extraRandom) ? 1 : -1)
            add(poll.at - .seconds(6), .hostClock(.seconds(seconds)))
            add(poll.at + .seconds(260), .hostClock(.seconds(-seconds)))
        }
        // User actions precede a poll at the same time.
        steps = (actions + polls).enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(
            \.element)
    }

    /// Excludes faults that no gateway can detect: where a bottle cuts its entries anywhere, none is reordered, because
    /// such pieces have no sequence number.
    private static func linkFaults(_ random: inout SeededGenerator, isSplitInsideRecords: Bool) -> FaultPlan {
        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
        func at(_ range: ClosedRange<Int>) -> FaultPlan.Trigger { .at(Int.random(in: range, using: &random)) }
        var plan = FaultPlan()
        if chance(30) { plan.faults.append(.init(.disconnect, at(1...70))) }
        if chance(10) { plan.faults.append(.init(.disconnect, at(71...160))) }
        if chance(30) { plan.faults.append(.init(.lose, at(1...14))) }
        if chance(15) {
            plan.faults.append(.init(.lose, .chance([0.02, 0.1, 0.2].randomElement(using: &random) ?? 0.1)))
        }
        if chance(25) { plan.faults.append(.init(.repeat, at(1...14))) }
        if chance(15), !isSplitInsideRecords { plan.faults.append(.init(.swap, at(1...14))) }
        if chance(10) {
            plan.faults.append(
                .init(.delay, at(1...10), time: .milliseconds(Int.random(in: 20...4000, using: &random))))
        }
        if chance(15) {
            plan.faults.append(
                .init(.late, at(1...30), time: .milliseconds(Int.random(in: 100...12_000, using: &random))))
        }
        if chance(10) { plan.faults.append(.init(.silent, at(1...30))) }
        if chance(20) { plan.faults.append(.init(.deaf, at(1...6))) }
        if chance(8) { plan.mtu = 23 }
        return plan
    }
}
