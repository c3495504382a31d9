import BottleProtocol
import Bluetooth

/// The bottle as a machine without I/O: events in, effects out. Time, randomness and the flash come from outside.
///
/// What it does is protocol spec P1, P2, P3 and P4 with the habits of real bottles; what it does wrong is the
/// `BottleFaults`. Effects are to be performed in order; `.save` comes first, so that nothing leaves that a power cut
/// could take back.
package struct VirtualBottleMachine: Sendable {
    /// What the bottle is told.
    package enum Event: Hashable, Sendable {
        case link(PeripheralEvent)
        /// Somebody acts on the bottle itself; answered by `.reply` with the same number.
        case control(ControlAction, id: UInt64)
        /// Time has passed; see `nextDeadline`.
        case tick
    }

    /// What is to be done, in order.
    package enum Effect: Hashable, Sendable {
        case link(PeripheralRequest)
        /// Make this durable before performing what follows.
        case save(BottleFlash)
        case reply(id: UInt64, ControlReply)
        /// One line for a person who watches.
        case log(String)
    }

    /// Who it is.
    package let identity: BottleIdentity
    /// What to publish on the link before the first event.
    package let application: GATTApplication
    /// What survives its restart.
    package internal(set) var flash: BottleFlash
    var clock: RunningClock
    var injector: FaultInjector
    var recorded: RecordedAnswers
    var session: Session?
    /// Why nobody can see or reach the bottle, as the link says; `nil`: it is on the air.
    var offAir: LinkError?
    /// Connections so far.
    var connections = 0
    /// Values due later: results of calibrations.
    var scheduled: [(at: MonotonicInstant, report: Frame)] = []
    var registrationDeadline: MonotonicInstant?
    /// Acknowledged records, for the `resend` fault.
    var acknowledged: [BottleFlash.Stored] = []
    var blinks = 0
    private var isDirty = false
    private var effects: [Effect] = []
    /// The host's wall clock when the machine was made, and when that was.
    private let hostTime: LocalTime
    private let startedAt: MonotonicInstant

    /// - Parameters:
    ///   - flash: as a new bottle's, or as saved by an earlier run.
    ///   - hasRadio: whether centrals see an address of the bottle's; without, it serves one as its serial number.
    ///   - answers: of a recorded bottle, for what this one does not know.
    ///   - hostTime: the host's local wall clock at `now`; the bottle's own clock stands against it as the flash says.
    package init(
        _ identity: BottleIdentity, flash: BottleFlash = BottleFlash(), faults: BottleFaults = BottleFaults(),
        seed: UInt64 = 0,
        answers: RecordedAnswers = .none, hasRadio: Bool = false, hostTime: LocalTime, at now: MonotonicInstant
    ) {
        self.identity = identity
        self.flash = flash
        self.hostTime = hostTime
        recorded = answers
        startedAt = now
        injector = FaultInjector(faults, seed: seed)
        application = GATTShape.application(identity, hasKeepAlive: faults.keepAlive, hasRadio: hasRadio)
        if let offset = flash.clockOffset {
            clock = RunningClock(
                LocalTime(milliseconds: hostTime.milliseconds + offset), isLost: false, drift: faults.drift, at: now)
        } else {
            let since = hostTime.milliseconds - (flash.lostAt ?? hostTime).milliseconds
            clock = RunningClock(LocalTime(milliseconds: max(0, since)), isLost: true, drift: faults.drift, at: now)
        }
    }

    var plan: BottleFaults { injector.plan }

    /// The earliest time at which `tick` has something to do.
    package var nextDeadline: MonotonicInstant? {
        ([session?.deadline, registrationDeadline] + scheduled.map { $0.at }).compactMap { $0 }.min()
    }

    /// Takes one event. Time does not go back.
    ///
    /// - Returns: what is to be done now, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Effect] {
        switch event {
        case .link(let event): handle(event, at: now)
        case .control(let action, let id): emit(.reply(id: id, perform(action, at: now)))
        case .tick: break
        }
        expire(at: now)
        pump(at: now)
        defer { effects = [] }
        guard isDirty else { return effects }
        isDirty = false
        noteClock(at: now)
        return [.save(flash)] + effects
    }

    mutating func emit(_ effect: Effect) { effects.append(effect) }
    mutating func log(_ line: String) { emit(.log(line)) }

    /// Changes the flash; it is saved before any effect of this event is performed.
    mutating func change(_ body: (inout BottleFlash) -> Void) {
        body(&flash)
        isDirty = true
    }

    /// How the bottle's clock stands against the host's, for the next start.
    private mutating func noteClock(at now: MonotonicInstant) {
        let host = hostTime.milliseconds + (now.nanoseconds - startedAt.nanoseconds) / 1_000_000
        let bottle = clock.time(at: now).milliseconds
        flash.clockOffset = clock.isLost ? nil : bottle - host
        flash.lostAt = clock.isLost ? LocalTime(milliseconds: host - bottle) : nil
    }

    private mutating func expire(at now: MonotonicInstant) {
        for due in scheduled where due.at <= now { report(due.report) }
        scheduled.removeAll { $0.at <= now }
        if let deadline = registrationDeadline, deadline <= now {
            registrationDeadline = nil
            report(Frame(.report, [Entry(.registration, [RegistrationCode.failed.rawValue])]))
            log("registration failed: nobody pressed the button in 30 s")
        }
    }
}
