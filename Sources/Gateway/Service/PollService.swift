import Bluetooth
import TrackerCore

/// The service: performs what `ServiceMachine` decides, for the bottles of one adapter, until its task is cancelled.
package actor PollService {
    /// What the service needs of its surroundings. All but `poll` must return soon.
    package struct Surroundings: Sendable {
        /// Reads the bottles and their rhythms. Other programs may have changed them.
        package var look: @Sendable () async -> [BottleDay]
        /// What a poll of this bottle is to do; `nil` where that cannot be told, and nothing must be taken from any
        /// bottle.
        package var options: @Sendable (BottlePlan) async -> PollOptions?
        /// One poll. Polls of one service never overlap.
        package var poll: @Sendable (PollOptions) async -> PollReport
        /// Whether a connection is kept.
        package var isConnected: @Sendable () async -> Bool
        /// Whether the poll under way gets on.
        package var isPollOnTime: @Sendable (_ grace: Duration) async -> Bool
        /// What follows the commits of a poll.
        package var afterPoll: @Sendable (PollReport, PollOptions) async -> Void
        /// Receives news for people.
        package var say: @Sendable (ServiceNews) async -> Void

        package init(
            look: @escaping @Sendable () async -> [BottleDay],
            options: @escaping @Sendable (BottlePlan) async -> PollOptions?,
            poll: @escaping @Sendable (PollOptions) async -> PollReport,
            isConnected: @escaping @Sendable () async -> Bool = { false },
            isPollOnTime: @escaping @Sendable (Duration) async -> Bool = { _ in true },
            afterPoll: @escaping @Sendable (PollReport, PollOptions) async -> Void = { _, _ in },
            say: @escaping @Sendable (ServiceNews) async -> Void = { _ in }
        ) {
            self.look = look
            self.options = options
            self.poll = poll
            self.isConnected = isConnected
            self.isPollOnTime = isPollOnTime
            self.afterPoll = afterPoll
            self.say = say
        }
    }

    /// A machine that was asleep, or has a lot to do, may be that late.
    private static let grace = Duration.seconds(30)
    /// How soon a clock that was set is noticed.
    private static let clockCheck = Duration.seconds(30)

    private let surroundings: Surroundings
    private let clock: DriverClock
    private var machine = ServiceMachine()
    private var pause: Task<Void, Never>?
    /// When the present pause ends at the latest.
    private var pauseEnds: MonotonicInstant?
    /// A poll was requested since the last look.
    private var isPoked = false
    /// Something has happened since the last look that may make another one due.
    private var isStirred = false
    /// What else is to be done with a bottle, each between two polls.
    private var errands: [(options: PollOptions, done: CheckedContinuation<PollReport, Never>)] = []
    /// `run` has ended.
    private var isOver = false
    /// The most errands that wait.
    private static let errandLimit = 8

    /// With no bottle yet.
    package init(_ surroundings: Surroundings, clock: DriverClock) {
        self.surroundings = surroundings
        self.clock = clock
    }

    /// Polls until the task is cancelled. The poll under way is over when this returns, and no connection is kept.
    package func run() async {
        var wall = WallClock(clock)
        while !Task.isCancelled {
            await runErrands()
            isStirred = false
            let found = await surroundings.look()
            let rhythms = found.reduce(into: [:]) { $0[$1.plan.id] = $1.rhythm }
            // Where the clock has been set, what could not be dated is worth another look at once.
            if wall.hasJumped(clock) {
                wall = WallClock(clock)
                isPoked = true
            }
            // Before the plans, in which a bottle that was just adopted has another id.
            if isPoked { _ = machine.handle(.poke(nil), at: clock.now()) }
            isPoked = false
            let wishes = found.reduce(into: [:]) { $0[$1.plan.id] = $1.wish }
            await perform(machine.handle(.plans(found.map(\.plan), rhythms, wishes: wishes), at: clock.now()))
            if !isPoked, !isStirred, errands.isEmpty, !Task.isCancelled, let deadline = machine.nextDeadline {
                await rest(until: deadline, wall)
            }
        }
        isOver = true
        if machine.isHolding { await letGo() }
        for errand in errands { errand.done.resume(returning: Self.notNow) }
        errands = []
    }

    /// Does something else with a bottle than to poll it, such as sending a command, as soon as no poll is under way.
    package func run(_ options: PollOptions) async -> PollReport {
        guard !isOver, errands.count < Self.errandLimit else { return Self.notNow }
        return await withCheckedContinuation { done in
            errands.append((options, done))
            pause?.cancel()
        }
    }

    /// When the next poll begins, as far as is known now; `nil` while a poll is under way.
    package var untilNextPoll: Duration? { machine.nextPoll.map { max(.zero, clock.now().duration(to: $0)) } }

    private func runErrands() async {
        while !errands.isEmpty, !Task.isCancelled {
            var errand = errands.removeFirst()
            errand.options.keepsConnection = machine.isHolding
            let report = await surroundings.poll(errand.options)
            _ = machine.handle(.errandOver(report), at: clock.now())
            errand.done.resume(returning: report)
        }
    }

    private static var notNow: PollReport {
        PollReport(failure: PollFailure(.interrupted, "the service is busy or stopping."))
    }

    /// Polls every bottle as soon as possible: settings have changed, or a person asks.
    package func hurry() {
        isPoked = true
        pause?.cancel()
    }

    /// A client begins to watch, so a connection may have to be kept.
    package func wake() {
        isStirred = true
        pause?.cancel()
    }

    /// The bottle sent something without a request.
    package func bottleStirred() {
        _ = machine.handle(.liveReport, at: clock.now())
        wake()
    }

    /// A connection that was kept may have ended: word of it may be older than the connection of now.
    package func connectionLost() async {
        guard await !surroundings.isConnected() else { return }
        _ = machine.handle(.connectionLost, at: clock.now())
        wake()
    }

    /// A connection with a bottle is kept.
    package var isHolding: Bool { machine.isHolding }

    /// Ends the connection that is kept, also where this task is cancelled.
    private func letGo() async {
        let surroundings = surroundings
        await Task {
            var options = PollOptions(zone: .utc)
            options.job = .letGo
            _ = await surroundings.poll(options)
        }.value
    }

    /// Whether work gets on: no deadline of a poll has passed without being served, and no pause is longer than meant.
    /// An actor that is stuck does not answer at all.
    package func isOnTime() async -> Bool {
        if let pauseEnds { return clock.now() < pauseEnds.advanced(by: Self.grace) }
        return await surroundings.isPollOnTime(Self.grace)
    }

    private func perform(_ first: [ServiceMachine.Effect]) async {
        var effects = first
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .say(let news): await surroundings.say(news)
            case .letGo: await letGo()
            case .poll(let plan, let history, let keeps):
                let report = await poll(plan, history, keeps)
                if Task.isCancelled { _ = machine.handle(.stop, at: clock.now()) }
                effects += machine.handle(.pollOver(report), at: clock.now())
            }
        }
    }

    private func poll(_ plan: BottlePlan, _ history: PollHistory, _ keeps: Bool) async -> PollReport {
        guard var options = await surroundings.options(plan) else {
            var report = PollReport(
                failure: PollFailure(.cannotStore, "the store cannot be read.", code: "storeCannotBeRead"))
            report.history = history
            return report
        }
        plan.apply(to: &options)
        options.history = history
        options.keepsConnection = keeps
        let report = await surroundings.poll(options)
        await surroundings.afterPoll(report, options)
        return report
    }

    /// Waits until then, or until a poll is requested or the clock is set.
    private func rest(until deadline: MonotonicInstant, _ wall: WallClock) async {
        pauseEnds = deadline
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
        pauseEnds = nil
    }
}

/// A bottle, and what its person's day asks for at a moment.
package struct BottleDay: Sendable {
    /// The bottle.
    package var plan: BottlePlan
    /// How often it is to be polled; `nil` where that cannot be told.
    package var rhythm: PollRhythm?
    /// Whether its connection is wanted beyond the polls.
    package var wish: HoldWish?

    package init(_ plan: BottlePlan, rhythm: PollRhythm?, wish: HoldWish? = nil) {
        self.plan = plan
        self.rhythm = rhythm
        self.wish = wish
    }
}

/// Detects that the clock was set: the wall clock and the monotonic clock differ.
struct WallClock: Sendable {
    private let wall: Instant
    private let start: MonotonicInstant

    init(_ clock: DriverClock) {
        wall = clock.wall()
        start = clock.now()
    }

    /// By more than a minute since this was made.
    func hasJumped(_ clock: DriverClock) -> Bool {
        abs(wall.seconds(to: clock.wall()) - start.duration(to: clock.now()) / .seconds(1)) > 60
    }
}
