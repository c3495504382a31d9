package import Bluetooth
import BottleProtocol

/// The state machine of the emulated bottle, without I/O: events in, effects out.
///
/// It implements protocol spec P1 to P4 with the quirks of real bottles and the faults of `BottleFaults`. The caller
/// must perform effects in order: `.save` is first, so that no sent value depends on an unsaved state.
package struct VirtualBottleMachine: PeripheralMachine {
    package let identity: BottleIdentity
    package let application: GATTApplication
    package internal(set) var flash: BottleFlash
    var clock: RunningClock
    var injector: FaultInjector
    var recordedResponses: RecordedResponses
    var session: Session?
    /// The link's reason why the bottle is not advertising; `nil` if it is.
    var advertisingError: LinkError?
    var connections = 0
    /// The reports of recalibrations with the times at which they are sent.
    var scheduled: [(at: MonotonicInstant, report: Frame)] = []
    var registrationDeadline: MonotonicInstant?
    /// The acknowledged records, for the `resend` fault.
    var acknowledged: [BottleFlash.StoredRecord] = []
    var blinks = 0
    private var isDirty = false
    private var effects: [PeripheralMachineEffect] = []
    private let hostTime: LocalTime
    private let startedAt: MonotonicInstant

    /// - Parameters:
    ///   - flash: a new flash, or one that an earlier run has saved.
    ///   - hasRadio: whether centrals know the bottle's address. Otherwise the serial number contains it.
    ///   - responses: the responses of a recorded bottle.
    ///   - hostTime: the host's local time at `now`. The flash contains the offset of the bottle's clock from it.
    package init(
        _ identity: BottleIdentity, flash: BottleFlash = BottleFlash(), faults: BottleFaults = BottleFaults(),
        seed: UInt64 = 0, responses: RecordedResponses = RecordedResponses(), hasRadio: Bool = false,
        hostTime: LocalTime, at now: MonotonicInstant
    ) {
        self.identity = identity
        self.flash = flash
        self.hostTime = hostTime
        recordedResponses = responses
        startedAt = now
        injector = FaultInjector(faults, seed: seed)
        application = BottleGATTTables.application(identity, hasKeepAlive: faults[.keepAlive] != 0, hasRadio: hasRadio)
        if let offset = flash.clockOffset {
            clock = RunningClock(
                LocalTime(milliseconds: hostTime.milliseconds + offset), isReset: false, drift: faults[.drift],
                at: now)
        } else {
            let since = hostTime.milliseconds - (flash.lostAt ?? hostTime).milliseconds
            clock = RunningClock(LocalTime(milliseconds: max(0, since)), isReset: true, drift: faults[.drift], at: now)
        }
    }

    var plan: BottleFaults { injector.plan }

    package var nextDeadline: MonotonicInstant? {
        ([session?.deadline, registrationDeadline] + scheduled.map { $0.at }).compactMap { $0 }.min()
    }

    package mutating func handle(_ event: PeripheralMachineEvent, at now: MonotonicInstant) -> [PeripheralMachineEffect]
    {
        switch event {
        case .link(let event): handle(event, at: now)
        case .control(let action): emit(.reply(perform(action, at: now)))
        case .tick: break
        }
        expire(at: now)
        sendDueValues(at: now)
        defer { effects = [] }
        guard isDirty else { return effects }
        isDirty = false
        saveClockOffset(at: now)
        return [.save(flash)] + effects
    }

    mutating func emit(_ effect: PeripheralMachineEffect) { effects.append(effect) }
    mutating func log(_ line: String) { emit(.log(line)) }

    /// Changes the flash. It is saved before any other effect of the event.
    mutating func change(_ body: (inout BottleFlash) -> Void) {
        body(&flash)
        isDirty = true
    }

    /// Stores the offset of the bottle's clock for the next start.
    private mutating func saveClockOffset(at now: MonotonicInstant) {
        let host = hostTime.milliseconds + (now.nanoseconds - startedAt.nanoseconds) / 1_000_000
        let bottle = clock.time(at: now).milliseconds
        flash.clockOffset = clock.isReset ? nil : bottle - host
        flash.lostAt = clock.isReset ? LocalTime(milliseconds: host - bottle) : nil
    }

    private mutating func expire(at now: MonotonicInstant) {
        for due in scheduled where due.at <= now { report(due.report) }
        scheduled.removeAll { $0.at <= now }
        if let deadline = registrationDeadline, deadline <= now {
            registrationDeadline = nil
            report(Frame(.report, [Entry(.registration, [RegistrationCode.failed.rawValue])]))
            log("registration failed: button not pressed within 30 s")
        }
    }
}
