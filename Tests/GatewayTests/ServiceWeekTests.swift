import Bluetooth
import BottleProtocol
import GatewaySupport
import Support
import Testing
import TrackerCore

@testable import Gateway

/// Two bottles in range of one adapter: both advertise, and each answers on its own connection.
private struct TwoBottles: ScriptedPeer {
    var bottles: [ScriptedBottle]
    var connected: Int?

    mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents {
        switch request {
        case .startScan:
            return bottles.map { (.milliseconds(1), .advertised($0.advertisement)) }
        case .connect(let peer, _):
            connected = bottles.firstIndex { $0.advertisement.peer == peer }
        default:
            break
        }
        guard let connected else { return [] }
        return bottles[connected].handle(request, at: now)
    }
}

/// A user with a bottle, a weekly plan of drinks, and a journal.
private struct Person {
    var settings: Settings
    var sips: [(at: Instant, record: [UInt8])] = []
    let journal = MemoryJournal()
    var polls: [(start: Instant, end: Instant)] = []

    func facts(_ zone: Zone) -> TrackerFacts {
        let calendar = DayCalendar(zone: zone)
        let drinks: [Drink] = journal.entries.enumerated().compactMap { number, entry in
            guard case .drink(let instant, _) = entry.verdict else { return nil }
            return Drink(
                key: "\(number)", at: instant, calendar: calendar, ml: entry.amountMl, source: .bottle,
                updatedAt: instant)
        }
        return TrackerFacts(settings: settings, zone: zone, drinks: drinks)
    }
}

@Suite struct ServiceWeekTests {
    @Test(arguments: [1, 2] as [UInt64])
    func `two bottles on one adapter are polled for a week`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let monday = Instant(seconds: 1_780_272_000)  // 2026-06-01T00:00:00Z
        var people = [Person(settings: Settings()), Person(settings: Settings())]
        try people[0].settings.set([
            ("hydration.goalMl", "2000"), ("schedule.wake", "06:00"), ("schedule.sleep", "21:00"),
        ])
        try people[1].settings.set([
            ("hydration.goalMl", "3000"), ("schedule.wake", "09:00"), ("schedule.sleep", "23:00"),
            ("bottle.pollWhenIdle", "false"),
        ])
        for index in people.indices {
            var seconds = 0
            while true {
                seconds += Int.random(in: 600...7200, using: &random)
                guard seconds < 7 * 86_400 - 3600 else { break }
                let (day, time) = (seconds / 86_400, seconds % 86_400)
                guard time > 6 * 3600 else { continue }
                let bytes = record(
                    minute: time / 60 % 60, second: time % 60, amount: Int.random(in: 30...400, using: &random),
                    hour: time / 3600, day: 1 + day, month: 6)
                people[index].sips.append((monday.advanced(seconds: Double(seconds)), bytes))
            }
        }
        let all = people.map(\.sips)
        let plans = (1...2).map {
            BottlePlan(id: "A4:C1:38:00:00:0\($0)", own: [AdoptedBottle(identities: ["A4:C1:38:00:00:0\($0)"])])
        }
        var air = TwoBottles(
            bottles: plans.map { plan in
                var bottle = ScriptedBottle()
                bottle.advertisement = Advertisement(
                    peer: PeerID(plan.id), address: BluetoothAddress(plan.id), name: "WaterH-Boost-24oz")
                bottle.serial = nil
                return bottle
            })
        var machine = ServiceMachine()
        var now = MonotonicInstant(nanoseconds: 0)
        func wall() -> Instant { Instant(milliseconds: monday.milliseconds + now.nanoseconds / 1_000_000) }
        let end = MonotonicInstant(nanoseconds: 0).advanced(by: .seconds(7 * 86_400))
        var intervals: [[PollSchedule]] = [[], []]
        var facts = people.map { $0.facts(.utc) }
        while now < end {
            let present = facts.map { PollPlan.pollSchedule($0, now: wall()) }
            let effects = machine.handle(
                .plans(zip(plans, present).map { ScheduledBottle($0, interval: $1) }), at: now)
            var polls = effects.compactMap {
                if case .poll(let plan, let history, _) = $0 { (plan, history) } else { nil }
            }
            guard let (plan, history) = polls.popLast() else {
                now = try #require(machine.nextDeadline)
                continue
            }
            #expect(polls.isEmpty)
            let index = try #require(plans.firstIndex(of: plan))
            for other in people.indices {
                let due = people[other].sips.prefix { $0.at <= wall() }
                air.bottles[other].records += due.map(\.record)
                people[other].sips.removeFirst(due.count)
            }
            let second = Int(monday.seconds(to: wall()))
            let clock = [0x1A, 6, 1 + second / 86_400, second / 3600 % 24, second / 60 % 60, second % 60].map {
                UInt8($0)
            }
            for other in people.indices { air.bottles[other].snapshot = boostSnapshot(clock: clock) }
            var options = PollOptions(zone: .utc)
            plan.apply(to: &options)
            options.history = history
            var rig = EngineRig(
                options: options, peer: air, journal: people[index].journal, start: wall(), hasRadio: true)
            let start = wall()
            let report = try rig.run()
            #expect(report.failure == nil, "seed \(seed), \(start): \(report)")
            #expect(report.identity == plan.id)
            now = now.advanced(by: MonotonicInstant(nanoseconds: 0).duration(to: rig.now))
            air = rig.peer
            people[index].polls.append((start, wall()))
            intervals[index].append(present[index])
            if report.new > 0 { facts[index] = people[index].facts(.utc) }
            _ = machine.handle(.pollOver(report), at: now)
        }
        for (index, person) in people.enumerated() {
            #expect(person.journal.entries.count > 50)
            // Drinks before the last poll are in the journal once and no longer in the bottle.
            let drunk = all[index].filter { $0.at < (person.polls.last?.start ?? monday) }.map(\.record)
            #expect(
                person.journal.entries.map(\.raw).sorted(by: { $0.lexicographicallyPrecedes($1) })
                    == drunk.sorted(by: { $0.lexicographicallyPrecedes($1) }))
            #expect(
                air.bottles[index].records.allSatisfy { !drunk.contains($0) },
                "seed \(seed): everything was acknowledged")
            // Tracker spec A7: a poll starts when it is due, and at most one tick and one poll of the other bottle
            // later.
            for (number, (before, next)) in zip(person.polls, person.polls.dropFirst()).enumerated() {
                let pause = before.end.seconds(to: next.start)
                guard case .every(let seconds) = intervals[index][number + 1] else { continue }
                #expect(
                    pause >= seconds - 0.001 || intervals[index][number + 1] != intervals[index][number],
                    "seed \(seed): polled after \(pause) s, not \(seconds) s")
                // The second user's quiet hours are 23:00 to 09:00. The first is polled around the clock.
                let longest = index == 1 && before.end.seconds(to: next.start) > 700 ? 36_600.0 : 600
                #expect(pause <= longest + 60 + 35, "seed \(seed): \(pause) s between polls")
            }
        }
        let nights = zip(people[1].polls, people[1].polls.dropFirst()).count { $0.end.seconds(to: $1.start) > 35_000 }
        #expect(nights == 6)
    }
}
