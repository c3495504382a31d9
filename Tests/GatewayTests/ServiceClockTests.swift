import Bluetooth
import Synchronization
import Testing
import TrackerCore

@testable import Gateway

@Suite struct ServiceClockTests {
    /// A monotonic clock that advances only by sleeping, and a wall clock that is set at planned times.
    final class Time: Sendable {
        private let passed = Mutex(0.0)
        /// The steps of the clock and their times, in seconds since the start.
        private let settings: [(at: Double, by: Double)]

        init(settings: [(at: Double, by: Double)] = []) { self.settings = settings }

        var seconds: Double { passed.withLock { $0 } }

        var clock: DriverClock {
            DriverClock(
                now: { MonotonicInstant(nanoseconds: 0).advanced(by: .milliseconds(Int64(self.seconds * 1000))) },
                wall: {
                    let now = self.seconds
                    return evening.advanced(seconds: self.settings.reduce(now) { $1.at <= now ? $0 + $1.by : $0 })
                },
                sleep: { deadline in
                    guard !Task.isCancelled else { return }
                    self.passed.withLock { $0 = max($0, Double(deadline.nanoseconds) / 1e9) }
                })
        }
    }

    /// The times of the service's first `count` polls, in seconds since its start.
    private func polls(_ count: Int, _ time: Time) async -> [Double] {
        let moments = Mutex<[Double]>([])
        let (stream, done) = AsyncStream.makeStream(of: Void.self)
        let surroundings = PollService.Dependencies(
            loadBottles: { [ScheduledBottle(PollTarget(id: "b1"), interval: .every(seconds: 600))] },
            options: { _ in PollOptions(zone: .utc) },
            poll: { _ in
                let seen = moments.withLock { moments in
                    moments.append(time.seconds)
                    return moments.count
                }
                if seen == count { done.finish() }
                return PollReport()
            })
        let service = PollService(surroundings, clock: time.clock)
        let work = Task { await service.run() }
        for await _ in stream {}
        work.cancel()
        await work.value
        return Array(moments.withLock { $0 }.prefix(count))
    }

    @Test func `a poll requested right after an adoption runs`() async {
        let polls = Mutex(0)
        let red = [AdoptedBottle(identities: [ownAddress])]
        let (polled, tell) = AsyncStream.makeStream(of: Void.self)
        let service = PollService(
            PollService.Dependencies(
                loadBottles: {
                    PollTarget.all(selectedBottles: [], ownBottles: polls.withLock { $0 } == 0 ? [] : red).map {
                        ScheduledBottle($0, interval: .every(seconds: 600))
                    }
                },
                options: { _ in PollOptions(zone: .utc) },
                poll: { _ in
                    polls.withLock { $0 += 1 }
                    var report = PollReport()
                    (report.identity, report.isAdopted) = (ownAddress, true)
                    return report
                },
                afterPoll: { _, _ in tell.yield() }),
            clock: .system(wall: { evening }))
        let work = Task { await service.run() }
        var polling = polled.makeAsyncIterator()
        await polling.next()
        await service.pollNow()
        await polling.next()
        work.cancel()
        await work.value
        #expect(polls.withLock { $0 } == 2)
    }

    @Test func `poll intervals stay the same while the clock is not changed`() async {
        #expect(await polls(4, Time()) == [0, 600, 1200, 1800])
    }

    @Test(arguments: [61.0, -61.0, 3600.0, -4_406_400.0, 34_560_000.0] as [Double])
    func `the bottle is polled once within 30 s when the clock is set`(seconds: Double) async {
        let moments = await polls(4, Time(settings: [(at: 700, by: seconds)]))
        #expect(moments[0...1] == [0, 600])
        #expect((700.0...760).contains(moments[2]), "\(moments)")
        #expect(moments[3] == moments[2] + 600, "\(moments)")
    }

    @Test(arguments: [59.0, -59.0, 1.0] as [Double])
    func `a clock correction of less than a minute causes no poll`(seconds: Double) async {
        #expect(await polls(3, Time(settings: [(at: 700, by: seconds)])) == [0, 600, 1200])
    }
}
