import Bluetooth
import Synchronization
import Testing
import TrackerCore

@testable import Gateway

private let (one, two) = (pollTarget(1), pollTarget(2))

/// A service in simulated time, with bottles whose polls take a second, and viewers.
private struct Shelf {
    var scheduler = PollScheduler()
    var now = 0.0
    let plans: [PollTarget]
    var interval = PollSchedule.every(seconds: 600)
    /// The time ranges with a viewer, by bottle.
    var watched: [PollTarget.ID: ClosedRange<Double>] = [:]
    var isAlways = false
    var absent: Set<PollTarget.ID> = []
    /// Times of drinks in seconds, and whether the bottle notifies them.
    var sips: [Double] = []
    var isReporting = true
    var losses: [Double] = []

    private(set) var polls: [(at: Double, id: PollTarget.ID)] = []
    private(set) var disconnect: [Double] = []
    private(set) var seen: [Double] = []
    private var reported = -1.0

    /// - Parameter viewers: the time range in which each bottle has a viewer.
    init(_ plans: [PollTarget] = [one], viewers: ClosedRange<Double>? = nil) {
        self.plans = plans
        for plan in plans { watched[plan.id] = viewers }
    }

    mutating func run(until end: Double) {
        while now < end {
            for sip in sips where isReporting && sip <= now && sip > reported {
                reported = sip
                _ = scheduler.handle(.bottleReported, at: at(now))
            }
            if let loss = losses.first, loss <= now {
                losses.removeFirst()
                _ = scheduler.handle(.connectionLost, at: at(now))
            }
            let days = plans.map { plan in
                var until: MonotonicInstant?
                if let look = watched[plan.id], look.lowerBound <= now {
                    until = at(min(look.upperBound, now) + 60)
                }
                let holdRequest = HoldRequest(
                    isAlways ? .always : .watching, viewers: until, interval: interval, now: at(now))
                return ScheduledBottle(plan, interval: interval, holdRequest: holdRequest)
            }
            for effect in scheduler.handle(.setBottles(days), at: at(now)) {
                switch effect {
                case .disconnect: disconnect.append(now)
                case .log: break
                case .poll(let plan, _, let keeps):
                    polls.append((now, plan.id))
                    var report = PollReport(failure: absent.contains(plan.id) ? PollFailure(.notFound, "so.") : nil)
                    now += absent.contains(plan.id) ? 30 : 0.3
                    report.isConnected = keeps && report.failure == nil
                    let fresh = report.failure == nil ? sips.filter { $0 <= now } : []
                    report.new = fresh.count
                    seen += fresh.map { now - $0 }
                    sips.removeAll { fresh.contains($0) }
                    _ = scheduler.handle(.pollEnded(report), at: at(now))
                }
            }
            let events = [
                scheduler.nextDeadline.map { Double($0.nanoseconds) / 1e9 }, sips.first { $0 > now },
                losses.first { $0 > now }, watched.values.map(\.lowerBound).filter { $0 > now }.min(),
            ]
            now = max(now, min(end, events.compactMap { $0 }.min() ?? end))
        }
    }

    func polls(of plan: PollTarget, from start: Double = 0, to end: Double = .infinity) -> [Double] {
        polls.filter { $0.id == plan.id && (start...end).contains($0.at) }.map(\.at)
    }
}

/// The duration of a kept connection, and the readings on it (`bottle.hold`).
@Suite struct HoldTests {
    @Test func `without viewers the bottle is disconnected after each poll`() {
        var shelf = Shelf()
        shelf.run(until: 1300)
        #expect(shelf.polls(of: one).count == 3 && shelf.disconnect.isEmpty && !shelf.scheduler.isKeepingConnection)
    }

    @Test func `a new viewer starts a poll at once`() {
        var shelf = Shelf(viewers: 100...130)
        shelf.run(until: 105)
        #expect(shelf.polls(of: one) == [0, 100] && shelf.scheduler.isKeepingConnection)
    }

    @Test func `the bottle is disconnected a minute after the last viewer`() {
        var shelf = Shelf(viewers: 100...130)
        shelf.run(until: 600)
        #expect(shelf.disconnect == [190])
        #expect(shelf.polls(of: one, from: 190.1).isEmpty, "\(shelf.polls)")
    }

    @Test func `a sip is read within a second if the bottle reports it, else within seconds`() {
        for isReporting in [true, false] {
            var shelf = Shelf(viewers: 100...290)
            shelf.isReporting = isReporting
            shelf.sips = [110.1, 111, 150.2, 200.7, 280]
            shelf.run(until: 300)
            let limit = isReporting ? 1.2 : 5.5
            #expect(shelf.seen.count == 5 && shelf.seen.allSatisfy { $0 <= limit }, "\(shelf.seen)")
        }
    }

    /// A reading costs battery: a bottle that notifies its drinks is not polled every few seconds.
    @Test func `a bottle that reports its drinks is read rarely`() {
        var shelf = Shelf(viewers: 100...390)
        shelf.sips = [110]
        shelf.run(until: 390)
        #expect(shelf.polls(of: one, from: 112).count <= 5, "\(shelf.polls)")
    }

    @Test func `a bottle that reports often without drinks is read every few seconds`() {
        var shelf = Shelf(viewers: 100...200)
        shelf.run(until: 110)
        for second in 110..<200 {
            _ = shelf.scheduler.handle(.bottleReported, at: at(Double(second)))
            shelf.run(until: Double(second + 1))
        }
        #expect((15...30).contains(shelf.polls(of: one, from: 110, to: 200).count), "\(shelf.polls.count)")
    }

    @Test func `the gateway disconnects every few minutes, so that a phone can connect`() {
        var shelf = Shelf(viewers: 0...2000)
        shelf.run(until: 1900)
        #expect(shelf.disconnect.count >= 5)
        for start in shelf.disconnect { #expect(shelf.polls(of: one, from: start, to: start + 29.9).isEmpty) }
        let stretches = zip(shelf.disconnect, shelf.disconnect.dropFirst()).map { $1 - $0 }
        #expect(stretches.allSatisfy { (325...340).contains($0) }, "\(stretches)")
    }

    @Test func `a requested poll runs during the pause for the phone`() {
        var shelf = Shelf(viewers: 0...2000)
        shelf.run(until: 305)
        #expect(!shelf.scheduler.isKeepingConnection)
        _ = shelf.scheduler.handle(.pollNow(nil), at: at(shelf.now))
        shelf.run(until: 307)
        #expect(shelf.scheduler.isKeepingConnection)
    }

    @Test func `a lost connection is reopened with growing pauses`() {
        var shelf = Shelf(viewers: 100...2000)
        shelf.run(until: 101)
        var pauses: [Double] = []
        for _ in 0..<6 {
            let lost = shelf.now + 1
            shelf.losses = [lost]
            let count = shelf.polls.count
            while shelf.polls.filter({ $0.at > lost }).isEmpty, shelf.now < 1000 { shelf.run(until: shelf.now + 1) }
            #expect(shelf.polls.count > count)
            pauses.append((shelf.polls.first { $0.at > lost }?.at ?? 0) - lost)
        }
        #expect(pauses.map { $0.rounded() } == [10, 20, 40, 60, 60, 60], "\(pauses)")
    }

    @Test func `an absent bottle is scanned for with pauses`() {
        var shelf = Shelf(viewers: 100...700)
        shelf.absent = [one.id]
        shelf.run(until: 700)
        let tries = shelf.polls(of: one, from: 100)
        let pauses = zip(tries, tries.dropFirst()).map { $1 - $0 - 30 }
        #expect(pauses.first == 10 && pauses.last == 60, "\(pauses)")
    }

    @Test func `two bottles with viewers are connected in turn`() {
        var shelf = Shelf([one, two], viewers: 100...500)
        shelf.run(until: 500)
        for plan in [one, two] {
            let polls = shelf.polls(of: plan, from: 100)
            #expect(zip(polls, polls.dropFirst()).allSatisfy { $1 - $0 < 36 }, "\(polls)")
        }
    }

    @Test func `an absent bottle takes no time from a bottle that responds`() {
        var shelf = Shelf([one, two], viewers: 100...500)
        shelf.absent = [two.id]
        shelf.run(until: 500)
        #expect(shelf.polls(of: two, from: 140).count <= 1, "\(shelf.polls)")
    }

    @Test func `the hold setting 'always' keeps the connection without viewers, but not at night`() {
        var shelf = Shelf()
        shelf.isAlways = true
        shelf.sips = [120]
        shelf.run(until: 250)
        #expect(shelf.scheduler.isKeepingConnection && shelf.seen.allSatisfy { $0 < 1.2 })
        #expect(shelf.polls(of: one).count < 8, "\(shelf.polls)")
        shelf.interval = .paused(seconds: 20_000)
        shelf.run(until: 1000)
        #expect(!shelf.scheduler.isKeepingConnection)
    }

    @Test func `the hold setting 'never' releases the connection even with a viewer`() {
        for (hold, isKept) in [(ConnectionHold.never, false), (.watching, true)] {
            let request = HoldRequest(hold, viewers: at(100), interval: .every(seconds: 600), now: at(0))
            #expect((request != nil) == isKept)
        }
    }

    @Test func `a single request counts as a viewer for a minute`() {
        final class Clock: Sendable { let now = Mutex(at(0)) }
        let clock = Clock()
        func pass(to seconds: Double) { clock.now.withLock { $0 = at(seconds) } }
        let viewers = ActiveViewers { clock.now.withLock { $0 } }
        #expect(viewers.until == nil)
        #expect(viewers.recordRequest())
        #expect(!viewers.begin())
        pass(to: 100)
        #expect(viewers.until == at(160))
        viewers.end()
        pass(to: 150)
        #expect(viewers.until == at(160) && !viewers.recordRequest())
        pass(to: 300)
        #expect(viewers.until == at(210) && viewers.begin())
    }
}
