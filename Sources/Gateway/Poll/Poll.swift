package import Bluetooth
import BottleProtocol
package import TrackerCore

/// One poll of one bottle, from scan to disconnect, as a state machine without I/O: events in, effects out.
///
/// It has three guarantees: only stored records are acknowledged, a drink's identity comes from the bottle, and totals
/// are computed from the journal. The caller passes the time and the journal.
package struct Poll: Sendable {
    /// The phase of a poll, with the data of that phase.
    enum State: Sendable {
        case idle
        case scanning(until: MonotonicInstant)
        case connecting(PeerID, until: MonotonicInstant)
        case connected(Session, Activity)
        case recovering(PeerID?, until: MonotonicInstant)
        case pausing(until: MonotonicInstant)
        case disconnecting(Next, until: MonotonicInstant)
        /// The poll is over and its connection is kept.
        case held(Session)
        case over
    }

    /// The procedure that runs on a connection.
    enum Activity: Sendable {
        /// Discovering the services, identifying the bottle and subscribing.
        case opening(OpeningStep, until: MonotonicInstant)
        case commanding(Session.Step, Exchange)
        case reading(LogReader)
        case acknowledging(until: MonotonicInstant)
    }

    /// The step after a disconnect.
    enum Next: Hashable, Sendable {
        case scan
        case recover(LinkError)
        case finish
    }

    /// The times and the journal of the event that `handle` processes, and the effects so far.
    struct EventContext: Sendable {
        var now = MonotonicInstant(nanoseconds: 0)
        var wall = Instant(milliseconds: 0)
        var journal: any Journal
        var effects: [PollEffect] = []
    }

    var options: PollOptions
    package var display: DisplayValues
    let linkName: String
    let hasRadio: Bool
    var state = State.idle
    var report = PollReport()
    var context: EventContext?
    var startedAt: (now: MonotonicInstant, wall: Instant)?
    var failures: [LinkError.Code: Int] = [:]
    var connections = 0
    var nearbyPeers = NearbyPeers()
    var lastAdvertisement: Advertisement?
    var serialNumber: String?
    /// The index of the current pair in `CharacteristicPair.all`.
    var pairIndex = 0
    var hasResponded = false
    var storedBottle = StoredBottleState()
    var clockTrust = ClockTrust.untrusted("the log was not read")
    var stored: Set<DrinkRecord> = []
    var acknowledged: Set<DrinkRecord> = []
    /// Records of the last acknowledgement, until a reading verifies it.
    var unverified: [DrinkRecord] = []
    var unreadableCount = 0
    var notificationCount = 0
    /// The time of the last log bytes, and the duration of the arrival of log bytes in this reading and in this poll.
    var arrival: (last: MonotonicInstant?, inReading: Duration, total: Duration) = (nil, .zero, .zero)

    /// - Parameters:
    ///   - linkName: the link for display, such as `unix:/tmp/b.sock`.
    ///   - hasRadio: whether a scan finds peers by radio (`CentralLink.hasRadio`).
    ///   - held: the poll that kept its connection, if any.
    package init(
        options: PollOptions, display: DisplayValues = DisplayValues(), linkName: String, hasRadio: Bool,
        held: Poll? = nil
    ) {
        self.options = options
        self.display = display
        self.linkName = linkName
        self.hasRadio = hasRadio
        report.history = options.history
        if let held, case .held = held.state { resume(held) }
    }

    var limits: PollLimits { options.limits }
    var now: MonotonicInstant { context?.now ?? MonotonicInstant(nanoseconds: 0) }
    var wall: Instant { context?.wall ?? Instant(milliseconds: 0) }
    /// The deadline of the poll. The time in which logs arrive is added, so that a slow bottle can be read as often as
    /// an acknowledgement requires.
    var end: MonotonicInstant { (startedAt?.now ?? now).advanced(by: limits.poll + min(arrival.total, limits.arrival)) }

    package var nextDeadline: MonotonicInstant? {
        switch state {
        case .idle, .held, .over: nil
        case .disconnecting(_, let until): until
        default: state.deadline.map { min($0, end) } ?? end
        }
    }

    package var isOver: Bool {
        switch state {
        case .held, .over: true
        default: false
        }
    }

    /// Handles an event, and returns the effects to perform in order.
    /// - Parameters:
    ///   - now: the time for deadlines.
    ///   - wall: the time at which records count as received, and the reference for the bottle's clock.
    package mutating func handle(
        _ event: PollEvent, at now: MonotonicInstant, wall: Instant, journal: any Journal
    ) -> [PollEffect] {
        guard !isOver || event == .start else { return [] }
        // The wall clock is read once per poll. A change of the host's clock takes effect with the next poll.
        let start = startedAt ?? (now, wall)
        startedAt = start
        context = EventContext(
            now: now, wall: start.wall.advanced(seconds: start.now.duration(to: now) / .seconds(1)), journal: journal)
        do {
            try process(event)
        } catch let released as ReleasedBottle {
            giveUp(PollFailure(.notOwned, withFullStop("\(released)")))
        } catch {
            giveUp(PollFailure(.cannotStore, withFullStop("\(error)")))
        }
        defer { context = nil }
        return context?.effects ?? []
    }

    // MARK: - Events

    private mutating func process(_ event: PollEvent) throws {
        switch event {
        case .start: try start()
        case .link(let event): try process(event)
        case .tick: try tick()
        case .cancel: try stop(PollFailure(.interrupted, "the poll was stopped."))
        }
    }

    private mutating func start() throws {
        switch state {
        case .held(let session):
            try startHeld(session)
        case .idle where options.job == .disconnect:
            finish()
        case .idle:
            if hasRadio, let stale = options.history.suspectPeer {
                startRecovery(.forget, PeerID(stale), because: "the last session with it failed")
            } else {
                scan()
            }
        default: break
        }
    }

    private mutating func process(_ event: CentralEvent) throws {
        switch (state, event) {
        case (_, .warning(let sentence)): recordLinkWarning(sentence)
        case (.scanning, .unavailable(let error)), (.connecting, .unavailable(let error)),
            (.recovering, .unavailable(let error)):
            fail(error)
        case (.disconnecting(let next, _), .unavailable), (.disconnecting(let next, _), .disconnected): proceed(next)
        case (.scanning, .advertised(let advertisement)): processAdvertisement(advertisement)
        case (.scanning, .scanFailed(let error)): fail(error)
        case (.connecting(let wanted, _), .connected(let peer, let mtu)) where wanted == peer: open(peer, mtu: mtu)
        case (.connecting, .connectFailed(let error)), (.connecting, .disconnected(let error?)): fail(error)
        case (.recovering, .recovered(let sentence)): recovered(sentence)
        case (.recovering(nil, _), .disconnected): recovered(nil)
        case (_, .disconnected(let error)), (_, .unavailable(let error as LinkError?)):
            if state.session != nil { try disconnectAndRecover(error) }
        case (_, .mtuChanged(let size)): state.session?.mtu = size
        case (_, .notification(let handle, let value)):
            if handle == state.session?.pair?.response.handle { try receive(value) }
        case (.connected(let session, .opening(let opening, _)), _): try processOpening(session, opening, event)
        default: try processResponse(event)
        }
    }

    private mutating func tick() throws {
        guard now < end || state.isDisconnecting else { return try timeLimitReached() }
        guard let due = state.deadline, due <= now else { return }
        switch state {
        case .scanning: scanTimedOut()
        case .connecting:
            perform(.disconnect)
            fail(LinkError(.connectFailed, "The bottle did not connect within \(limits.connect).", isTransient: true))
        case .connected(_, .opening(let opening, _)): try disconnectAndRecover(silence(opening.action))
        case .connected(let session, .commanding(let step, let exchange)):
            try checkExchangeDeadline(session, step, exchange)
        case .connected(let session, .reading):
            try execute(updateReader { $0.tick(isWriting: session.pendingWrites > 0, at: $1) })
        case .connected(_, .acknowledging): try disconnectAndRecover(silence("acknowledge the records"))
        case .recovering: recovered("the link did not respond in time")
        case .pausing: scan()
        case .disconnecting(let next, _): proceed(next)
        case .idle, .held, .over: break
        }
    }

    // MARK: - End of the poll

    private mutating func timeLimitReached() throws {
        if connections == 0, let failure = timeoutFailure() { return try stop(failure) }
        let hasLog = report.received > 0 || state.session?.assembler.progress != nil
        try stop(
            PollFailure(
                .didNotAnswer,
                hasLog
                    ? """
                    its log was incomplete after \(limits.poll). The received records are stored, and nothing \
                    uncertain was acknowledged.
                    """
                    : "the poll was incomplete after \(limits.poll).\(otherBottlesText)",
                code: "outOfTime", values: otherBottlesValues))
    }

    /// Ends the poll, stores the received data and acknowledges nothing more.
    private mutating func stop(_ failure: PollFailure) throws {
        switch state {
        case .scanning:
            perform(.stopScan)
            close(failure)
        case .connecting, .recovering: giveUp(failure)
        case .disconnecting(let next, let until):
            if next != .finish { report.failure = failure }
            state = .disconnecting(.finish, until: until)
        case .idle, .pausing: close(failure)
        case .held, .over: break
        case .connected: try stopSession(failure)
        }
    }

    private mutating func stopSession(_ failure: PollFailure) throws {
        guard let session = state.session else { return }
        if session.isAfterLog, failure.kind == .didNotAnswer { return disconnect(then: .finish) }
        try storeInterruptedReading()
        guard failure.kind == .didNotAnswer, session.log.latest != nil else { return giveUp(failure) }
        report.complete = true
        addDiagnostic(
            .warning,
            """
            About the log: it is complete and stored; there was no time to acknowledge all of it, so the next poll \
            does that.
            """)
        disconnect(then: .finish)
    }

    /// Handles an error of the link: stores the received data and starts the recovery step for the error's class.
    mutating func disconnectAndRecover(_ error: LinkError?) throws {
        guard let session = state.session else { return }
        try storeInterruptedReading()
        if session.log.latest != nil { report.complete = true }
        guard !session.isAfterLog else { return disconnect(then: .finish) }
        let error = error ?? LinkError(.disconnected, "The bottle ended the connection.", isTransient: true)
        disconnect(then: .recover(error))
    }

    /// Ends the poll without a retry, because another connection would fail in the same way.
    mutating func giveUp(_ failure: PollFailure) {
        if report.failure == nil || failure.kind != .cannotStore { report.failure = failure }
        if case .scanning = state { perform(.stopScan) }
        disconnect(then: .finish)
    }

    mutating func disconnect(then next: Next) {
        state = .disconnecting(next, until: now.advanced(by: limits.closing))
        reportProgress(.disconnecting)
        perform(.disconnect)
    }

    private mutating func proceed(_ next: Next) {
        switch next {
        case .scan: scan()
        case .recover(let error): fail(error)
        case .finish: close(report.failure)
        }
    }

    mutating func finishSession(_ session: Session) {
        report.failure = nil
        report.history.suspectPeer = nil
        guard options.keepsConnection, now < end, options.job == .poll || connections == 1 else {
            return disconnect(then: .finish)
        }
        report.isConnected = true
        state = .held(session)
        close(nil)
    }

    mutating func close(_ failure: PollFailure?) {
        report.failure = failure
        if failure?.kind == .notFound, hasRadio, !options.allowPowerCycle, report.history.failedScans >= 3 {
            addDiagnostic(
                .info, "Three scans in a row found nothing: switching the adapter off and on might help.",
                code: "powerCycleMayHelp")
        }
        let isStored = options.job == .poll && (hasResponded || options.isReplay) && failure?.kind != .cannotStore
        if let bottle = report.identity, isStored {
            do {
                try context?.journal.finishPoll(pollRecord(of: bottle))
            } catch {
                addDiagnostic(.warning, "Storing the end of the poll failed: \(error)")
            }
        }
        finish()
    }

    /// Returns the record of this poll for the journal. For a replay, it has only the bottle's identity, name and
    /// model, because the other values are not current.
    private func pollRecord(of bottle: String) -> PollRecord {
        var record = PollRecord(
            bottle: bottle, name: report.name, model: report.model?.rawValue, endedAt: wall, complete: false,
            isClockUntrusted: true)
        guard !options.isReplay else { return record }
        record.batteryPercent = report.batteryPercent
        record.clockDriftSeconds = report.clockDriftSeconds
        record.complete = report.complete
        record.hasAcknowledged = report.complete && !acknowledged.isEmpty
        record.largestReading = storedBottle.largestReading
        record.isClockUntrusted = !clockTrust.isTrusted
        return record
    }

    private mutating func finish() {
        if !isOver { state = .over }
        (report.acknowledged, report.unconfirmed) = (acknowledged.count, unverified.count)
        let linkValues = ["link": linkName, "hasRadio": "\(hasRadio)"]
        report.failure?.values.merge(linkValues) { $1 }
        report.duration = startedAt.map { $0.now.duration(to: now) } ?? .zero
        if report.model == nil { report.model = report.name.flatMap(BottleModel.init(advertisedName:)) }
        emit(.done(report))
    }

    // MARK: - Effects

    mutating func emit(_ effect: PollEffect) { context?.effects.append(effect) }

    mutating func perform(_ request: CentralRequest) { emit(.link(request)) }

    mutating func addDiagnostic(_ severity: Diagnostic.Severity, _ sentence: String, code: String? = nil) {
        emit(.diagnostic(Diagnostic(severity, sentence, code: code)))
    }

    mutating func reportProgress(_ stage: PollProgress.Stage, _ transfer: PollProgress.Transfer? = nil) {
        emit(.progress(PollProgress(stage: stage, records: report.received, transfer: transfer)))
    }

    func silence(_ step: String) -> LinkError {
        LinkError(.timeout, "The bottle did not respond within the time limit (step: \(step)).", isTransient: true)
    }

    private func withFullStop(_ text: String) -> String { text.hasSuffix(".") ? text : text + "." }
}

extension Poll.State {
    var session: Session? {
        get { if case .connected(let session, _) = self { session } else { nil } }
        set { if let newValue, case .connected(_, let activity) = self { self = .connected(newValue, activity) } }
    }

    var activity: Poll.Activity? {
        get { if case .connected(_, let activity) = self { activity } else { nil } }
        set { if let newValue, case .connected(let session, _) = self { self = .connected(session, newValue) } }
    }

    var reader: LogReader? { if case .reading(let reader)? = activity { reader } else { nil } }

    var deadline: MonotonicInstant? {
        switch self {
        case .scanning(let until), .connecting(_, let until), .connected(_, .opening(_, let until)),
            .connected(_, .acknowledging(let until)), .recovering(_, let until), .pausing(let until),
            .disconnecting(_, let until):
            until
        case .connected(_, .commanding(_, let exchange)): exchange.deadline
        case .connected(_, .reading(let reader)): reader.deadline
        case .idle, .held, .over: nil
        }
    }

    var isDisconnecting: Bool { if case .disconnecting = self { true } else { false } }
}
