import Bluetooth
import Support
import Testing
import TrackerCore

@testable import Gateway

/// The target of the bottle with this number.
func pollTarget(_ number: Int) -> PollTarget {
    let address = "A4:C1:38:00:00:0\(number)"
    return PollTarget(id: address, ownBottles: [AdoptedBottle(identities: [address])])
}

func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((seconds * 1e9).rounded()))
}

private func plans(_ plans: [PollTarget], _ interval: PollSchedule? = nil) -> PollScheduler.Event {
    .setBottles(plans.map { ScheduledBottle($0, interval: interval) })
}

private func polled(_ effects: [PollScheduler.Effect]) -> PollTarget.ID? {
    effects.compactMap { if case .poll(let plan, _, _) = $0 { plan.id } else { nil } }.first
}

private func said(_ effects: [PollScheduler.Effect]) -> [ServiceMessage] {
    effects.compactMap { if case .log(let message) = $0 { message } else { nil } }
}

@Suite struct PollSchedulerTests {
    @Test(arguments: [60.0, 120, 300, 600])
    func `a poll is due at the start and then after an interval`(interval: Double) {
        var scheduler = PollScheduler()
        let look = plans([pollTarget(1)], .every(seconds: interval))
        #expect(polled(scheduler.handle(look, at: at(0))) == pollTarget(1).id)
        #expect(scheduler.nextDeadline == nil, "Nothing is due while it is polled.")
        #expect(polled(scheduler.handle(.pollEnded(PollReport()), at: at(20))) == nil)
        #expect(polled(scheduler.handle(look, at: at(20 + interval - 1))) == nil)
        #expect(scheduler.nextDeadline == at(20 + interval))
        #expect(polled(scheduler.handle(look, at: at(20 + interval))) == pollTarget(1).id)
    }

    @Test func `an idle bottle is polled when the drinking hours begin`() {
        var scheduler = PollScheduler()
        _ = scheduler.handle(plans([pollTarget(1)]), at: at(0))
        _ = scheduler.handle(.pollEnded(PollReport()), at: at(10))
        #expect(polled(scheduler.handle(plans([pollTarget(1)], .paused(seconds: 3600)), at: at(100))) == nil)
        #expect(scheduler.nextDeadline == at(160), "the active hours are checked every minute")
        #expect(polled(scheduler.handle(plans([pollTarget(1)], .paused(seconds: 0)), at: at(3700))) == pollTarget(1).id)
    }

    /// Tracker spec A7: one poll at the start shows that the service works. Then the bottle rests.
    @Test func `a service that starts at night polls once`() {
        var scheduler = PollScheduler()
        let night = plans([pollTarget(1)], .paused(seconds: 3600))
        #expect(polled(scheduler.handle(night, at: at(0))) == pollTarget(1).id)
        #expect(
            polled(scheduler.handle(.pollEnded(PollReport()), at: at(10))) == nil
                && polled(scheduler.handle(night, at: at(70))) == nil)
    }

    @Test func `a poll that is requested during another one runs after it`() {
        var scheduler = PollScheduler()
        let look = plans([pollTarget(1)], .every(seconds: 600))
        _ = scheduler.handle(look, at: at(0))
        _ = scheduler.handle(.pollNow(nil), at: at(5))
        _ = scheduler.handle(.pollEnded(PollReport()), at: at(10))
        #expect(polled(scheduler.handle(look, at: at(10))) == pollTarget(1).id)
        _ = scheduler.handle(.pollEnded(PollReport()), at: at(20))
        #expect(polled(scheduler.handle(look, at: at(20))) == nil, "Once.")
        _ = scheduler.handle(.pollNow(pollTarget(1).id), at: at(30))
        #expect(scheduler.nextDeadline == at(30))
        #expect(polled(scheduler.handle(look, at: at(30))) == pollTarget(1).id)
    }

    @Test func `an adopted bottle is polled once`() {
        var scheduler = PollScheduler()
        let any = PollTarget.all(selectedBottles: [], ownBottles: [])
        #expect(any.count == 1)
        _ = scheduler.handle(plans(any), at: at(0))
        var report = PollReport()
        report.identity = pollTarget(1).id
        report.isAdopted = true
        let messages = said(scheduler.handle(.pollEnded(report), at: at(10)))
        #expect(messages.contains { if case .adopted = $0 { true } else { false } })
        let own = PollTarget.all(selectedBottles: [], ownBottles: [AdoptedBottle(identities: [pollTarget(1).id])])
        #expect(polled(scheduler.handle(plans(own, .every(seconds: 60)), at: at(10))) == nil)
        #expect(polled(scheduler.handle(plans(own, .every(seconds: 60)), at: at(70))) == pollTarget(1).id)
    }

    @Test func `a bottle adopted later is polled at once`() {
        var scheduler = PollScheduler()
        let alone = PollTarget.all(selectedBottles: [], ownBottles: [AdoptedBottle(identities: [pollTarget(2).id])])
        _ = scheduler.handle(plans(alone), at: at(0))
        var report = PollReport(failure: PollFailure(.notOwned, "so."))
        report.identity = pollTarget(1).id
        _ = scheduler.handle(.pollEnded(report), at: at(10))
        let both = PollTarget.all(
            selectedBottles: [],
            ownBottles: [pollTarget(1).id, pollTarget(2).id].map { AdoptedBottle(identities: [$0]) })
        #expect(both.map(\.otherBottles.count) == [1, 1])
        #expect(polled(scheduler.handle(plans(both), at: at(20))) == pollTarget(1).id)
    }

    @Test func `an error is reported once until it changes`() {
        var scheduler = PollScheduler()
        let look = plans([pollTarget(1)], .every(seconds: 60))
        var messages: [String] = []
        for (poll, kind)
            in ([.notFound, .notFound, .bluetoothOff, .interrupted, .bluetoothOff, nil, nil, .notFound]
            as [PollFailure.Kind?]).enumerated()
        {
            let start = Double(poll * 100)
            #expect(polled(scheduler.handle(look, at: at(start))) != nil)
            let report = PollReport(failure: kind.map { PollFailure($0, "so.") })
            for word in said(scheduler.handle(.pollEnded(report), at: at(start + 10))) {
                switch word {
                case .failed(_, let failure, let isNew): messages.append(isNew ? failure.kind.rawValue : "again")
                case .respondsAgain: messages.append("answers")
                case .adopted, .receivedRecords: messages.append("more")
                }
            }
        }
        #expect(messages == ["notFound", "again", "bluetoothOff", "again", "answers", "notFound"])
    }

    @Test func `a stopped service starts no poll`() {
        var scheduler = PollScheduler()
        let look = plans([pollTarget(1), pollTarget(2)])
        _ = scheduler.handle(look, at: at(0))
        _ = scheduler.handle(.stop, at: at(1))
        _ = scheduler.handle(.pollEnded(PollReport()), at: at(2))
        #expect(polled(scheduler.handle(look, at: at(2))) == nil)
        #expect(scheduler.nextDeadline == nil)
    }

    /// Whatever the requests and the duration of polls: one poll at a time, and each bottle waits for at most one poll
    /// of each other bottle.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `bottles are polled in turn`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let bottles = (1...Int.random(in: 2...5, using: &random)).map(pollTarget)
        var scheduler = PollScheduler()
        var now = at(0)
        var polling: PollTarget.ID?
        var pollEnds = now
        /// For each due bottle, the number of polls of others since then.
        var waiting: [PollTarget.ID: Int] = [:]
        var poked: Set<PollTarget.ID> = []
        var lastEnded: [PollTarget.ID: MonotonicInstant] = [:]
        var polls = 0
        var intervals = Dictionary(uniqueKeysWithValues: bottles.map { ($0.id, PollSchedule.every(seconds: 60)) })
        while polls < 400 {
            if Int.random(in: 0..<10, using: &random) == 0, let one = bottles.randomElement(using: &random) {
                intervals[one.id] = .every(seconds: [60, 120, 300, 600].randomElement(using: &random) ?? 60)
            }
            if Int.random(in: 0..<6, using: &random) == 0, let one = bottles.randomElement(using: &random) {
                _ = scheduler.handle(.pollNow(one.id), at: now)
                poked.insert(one.id)
            }
            let effects = polling != nil && pollEnds <= now ? scheduler.handle(.pollEnded(PollReport()), at: now) : []
            #expect(polled(effects) == nil)
            if let done = polling, pollEnds <= now {
                lastEnded[done] = now
                polling = nil
            }
            if let next = polled(
                scheduler.handle(.setBottles(bottles.map { ScheduledBottle($0, interval: intervals[$0.id]) }), at: now))
            {
                #expect(polling == nil, "seed \(seed): two polls at once")
                polling = next
                polls += 1
                pollEnds = now.advanced(by: .seconds(Int.random(in: 1...33, using: &random)))
                #expect(
                    (waiting[next] ?? 0) < bottles.count,
                    "seed \(seed): a bottle waited for \(waiting[next] ?? 0) polls of others")
                waiting[next] = nil
                poked.remove(next)
                for id in waiting.keys { waiting[id]? += 1 }
            }
            for one in bottles where one.id != polling {
                guard case .every(let seconds) = intervals[one.id] else { continue }
                let isDue =
                    poked.contains(one.id)
                    || lastEnded[one.id].map { $0.advanced(by: .seconds(seconds)) <= now } ?? true
                waiting[one.id] = isDue ? waiting[one.id] ?? 0 : nil
            }
            now = now.advanced(by: .seconds(Int.random(in: 1...40, using: &random)))
        }
        #expect(Set(lastEnded.keys) == Set(bottles.map(\.id)), "seed \(seed)")
    }
}
