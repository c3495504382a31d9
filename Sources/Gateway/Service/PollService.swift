import Bluetooth
import TrackerCore

/// Polls the bottles of one adapter until its task is cancelled: executes the effects of `PollScheduler`.
package actor PollService {
    /// The dependencies of the service. All but `poll` must return within seconds.
    package struct Dependencies: Sendable {
        /// Reads the bottles and their poll intervals, because other programs can change them.
        package var loadBottles: @Sendable () async -> [ScheduledBottle]
        /// Returns the options for a poll of this bottle; `nil` if the store cannot be read. Then the service does not
        /// poll.
        package var options: @Sendable (PollTarget) async -> PollOptions?
        /// Performs one poll. Polls of one service never overlap.
        package var poll: @Sendable (PollOptions) async -> PollReport
        package var isConnected: @Sendable () async -> Bool
        /// Whether the current poll meets its deadlines.
        package var isPollOnTime: @Sendable (_ grace: Duration) async -> Bool
        /// Called after a poll has stored its records.
        package var afterPoll: @Sendable (PollReport, PollOptions) async -> Void
        package var log: @Sendable (ServiceMessage) async -> Void

        package init(
            loadBottles: @escaping @Sendable () async -> [ScheduledBottle],
            options: @escaping @Sendable (PollTarget) async -> PollOptions?,
            poll: @escaping @Sendable (PollOptions) async -> PollReport,
            isConnected: @escaping @Sendable () async -> Bool = { false },
            isPollOnTime: @escaping @Sendable (Duration) async -> Bool = { _ in true },
            afterPoll: @escaping @Sendable (PollReport, PollOptions) async -> Void = { _, _ in },
            log: @escaping @Sendable (ServiceMessage) async -> Void = { _ in }
        ) {
            self.loadBottles = loadBottles
            self.options = options
            self.poll = poll
            self.isConnected = isConnected
            self.isPollOnTime = isPollOnTime
            self.afterPoll = afterPoll
            self.log = log
        }
    }

    /// The tolerated delay of a deadline, for a computer that was suspended or is under load.
    private static let grace = Duration.seconds(30)
    /// The interval at which a change of the clock is detected.
    private static let clockCheck = Duration.seconds(30)

    private let dependencies: Dependencies
    private let clock: DriverClock
    private var scheduler = PollScheduler()
    private var pause: Task<Void, Never>?
    private var pauseDeadline: MonotonicInstant?
    private var isPollRequested = false
    /// Whether an event since the last check requires another one.
    private var isCheckRequested = false
    private var jobs: [(options: PollOptions, done: CheckedContinuation<PollReport, Never>)] = []
    private var isOver = false
    private static let jobLimit = 8

    package init(_ dependencies: Dependencies, clock: DriverClock) {
        self.dependencies = dependencies
        self.clock = clock
    }

    /// Polls until the task is cancelled. Before it returns, it ends the current poll and disconnects.
    package func run() async {
        var wall = WallClock(clock)
        while !Task.isCancelled {
            await runJobs()
            isCheckRequested = false
            let bottles = await dependencies.loadBottles()
            guard !Task.isCancelled else { break }
            if wall.hasJumped(clock) {
                wall = WallClock(clock)
                isPollRequested = true
            }
            // Handle the request first: among the new targets, a bottle that was just adopted has another ID.
            if isPollRequested { _ = scheduler.handle(.pollNow(nil), at: clock.now()) }
            isPollRequested = false
            await perform(scheduler.handle(.setBottles(bottles), at: clock.now()))
            if !isPollRequested, !isCheckRequested, jobs.isEmpty, !Task.isCancelled,
                let deadline = scheduler.nextDeadline
            {
                await waitUntil(deadline, wall)
            }
        }
        isOver = true
        if scheduler.isKeepingConnection { await disconnect() }
        for job in jobs { job.done.resume(returning: Self.busyReport) }
        jobs = []
    }

    /// Runs a job other than a poll, such as a command, as soon as no poll is running.
    package func run(_ options: PollOptions) async -> PollReport {
        guard !isOver, jobs.count < Self.jobLimit else { return Self.busyReport }
        return await withCheckedContinuation { done in
            jobs.append((options, done))
            pause?.cancel()
        }
    }

    /// The time until the next poll; `nil` during a poll, and without a bottle.
    package var untilNextPoll: Duration? { scheduler.nextPoll.map { max(.zero, clock.now().duration(to: $0)) } }

    private func runJobs() async {
        while !jobs.isEmpty, !Task.isCancelled {
            var job = jobs.removeFirst()
            job.options.keepsConnection = scheduler.isKeepingConnection
            let report = await dependencies.poll(job.options)
            _ = scheduler.handle(.jobEnded(report), at: clock.now())
            job.done.resume(returning: report)
        }
    }

    private static var busyReport: PollReport {
        PollReport(failure: PollFailure(.interrupted, "the service is busy or stopping."))
    }

    /// Polls every bottle as soon as possible, after a change of settings or on a user's request.
    package func pollNow() {
        isPollRequested = true
        pause?.cancel()
    }

    /// Records that a client has connected, so that the bottle's connection might have to be kept.
    package func wake() {
        isCheckRequested = true
        pause?.cancel()
    }

    package func bottleReported() {
        _ = scheduler.handle(.bottleReported, at: clock.now())
        wake()
    }

    package func connectionLost() async {
        guard await !dependencies.isConnected() else { return }
        _ = scheduler.handle(.connectionLost, at: clock.now())
        wake()
    }

    private func disconnect() async {
        let dependencies = dependencies
        await Task {
            var options = PollOptions(zone: .utc)
            options.job = .disconnect
            _ = await dependencies.poll(options)
        }.value
    }

    /// Returns `false` if a deadline of a poll or the current pause is overdue. A blocked actor does not return.
    package func isOnTime() async -> Bool {
        if let pauseDeadline { return clock.now() < pauseDeadline.advanced(by: Self.grace) }
        return await dependencies.isPollOnTime(Self.grace)
    }

    private func perform(_ first: [PollScheduler.Effect]) async {
        var effects = first
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .log(let message): await dependencies.log(message)
            case .disconnect: await disconnect()
            case .poll(let target, let history, let keeps):
                let report = await poll(target, history, keeps)
                if Task.isCancelled { _ = scheduler.handle(.stop, at: clock.now()) }
                effects += scheduler.handle(.pollEnded(report), at: clock.now())
            }
        }
    }

    private func poll(_ target: PollTarget, _ history: PollHistory, _ keeps: Bool) async -> PollReport {
        guard var options = await dependencies.options(target) else {
            var report = PollReport(
                failure: PollFailure(.cannotStore, "the store cannot be read.", code: "storeCannotBeRead"))
            report.history = history
            return report
        }
        target.apply(to: &options)
        options.history = history
        options.keepsConnection = keeps
        let report = await dependencies.poll(options)
        await dependencies.afterPoll(report, options)
        return report
    }

    /// Waits until the deadline. A requested poll or a change of the clock ends the wait.
    private func waitUntil(_ deadline: MonotonicInstant, _ wall: WallClock) async {
        pauseDeadline = deadline
        let clock = clock
        let pause = Task {
            while clock.now() < deadline, !Task.isCancelled, !wall.hasJumped(clock) {
                await clock.sleep(min(deadline, clock.now().advanced(by: Self.clockCheck)))
            }
        }
        self.pause = pause
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
        self.pause = nil
        pauseDeadline = nil
    }
}

/// Detects changes of the wall clock by comparison with the monotonic clock.
struct WallClock: Sendable {
    private let wall: Instant
    private let start: MonotonicInstant

    init(_ clock: DriverClock) {
        wall = clock.wall()
        start = clock.now()
    }

    /// Whether the wall clock was changed by more than 1 min since this value was created.
    func hasJumped(_ clock: DriverClock) -> Bool {
        abs(wall.seconds(to: clock.wall()) - start.duration(to: clock.now()) / .seconds(1)) > 60
    }
}
