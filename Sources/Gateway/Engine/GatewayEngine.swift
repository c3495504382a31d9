import BottleProtocol
import Bluetooth
import TrackerCore

/// One poll of one bottle, from scan to disconnect, as a machine without I/O: events go in, effects come out.
///
///     idle -> scanning -> connecting -> session -> disconnecting -> finishing -> over
///                ^                         |
///                +------- recovering <-----+         (the rungs of `RetryTable`)
///
/// It keeps the three promises: nothing is acknowledged before the journal has it; a drink is who the bottle says it is;
/// totals are the journal's business. Time is handed in, so a simulation can hand in any.
public struct GatewayEngine {
    private enum Phase: Hashable {
        case idle
        case scanning
        case connecting(PeerID)
        case session
        /// A rung that the link carries out and reports.
        case recovering(PeerID?)
        /// Pause before the next attempt.
        case pausing
        case disconnecting
        case finishing
        case over
    }

    /// What comes after a disconnect.
    private enum Next: Hashable {
        case scan
        case recover(LinkError)
        case finish
    }

    private var work: PollWork
    private var phase = Phase.idle
    private var session: BottleSession?
    private var next = Next.finish
    private var started: MonotonicInstant?
    private var phaseDeadline: MonotonicInstant?
    private var peer: PeerID?
    private var strangers: Set<PeerID> = []
    private var failures: [LinkError.Code: Int] = [:]
    private var sessions = 0
    private var isOutOfTime = false

    /// - Parameters:
    ///   - linkName: the link in words, `unix:/tmp/b.sock`; part of a bottle's stand-in identity.
    ///   - hasRadio: whether a scan finds peers by radio (`CentralLink.hasRadio`).
    public init(options: PollOptions, linkName: String, hasRadio: Bool) {
        work = PollWork(options: options, linkName: linkName, hasRadio: hasRadio)
        work.report.history = options.history
    }

    /// When `tick` is due at the latest.
    public var nextDeadline: MonotonicInstant? {
        guard phase != .over, phase != .idle else { return nil }
        let budget = isOutOfTime ? nil : started?.advanced(by: work.limits.poll)
        return [phaseDeadline, phase == .session ? session?.deadline : nil, budget].compactMap { $0 }.min()
    }

    public var isOver: Bool { phase == .over }

    /// - Parameters:
    ///   - now: for deadlines.
    ///   - wall: when records count as received, and what the bottle's clock is compared with.
    public mutating func handle(_ event: EngineEvent, at now: MonotonicInstant, wall: Instant) -> [EngineEffect] {
        guard phase != .over else { return [] }
        work.effects = []
        work.now = now
        work.wall = wall
        switch event {
        case .start: start()
        case .link(let event): take(event)
        case .journal(let reply): take(reply)
        case .todayTotal(let total): session?.takeTotal(total, &work)
        case .tick: tick()
        case .cancel: stop(PollFailure(.interrupted, "the poll was stopped.", advice: "What had arrived is stored; poll again for the rest."))
        }
        followSession()
        return work.effects
    }

    // MARK: - Events

    private mutating func start() {
        guard phase == .idle else { return }
        started = work.now
        if work.hasRadio, let stale = work.options.history.suspectPeer {
            climb(.forget, PeerID(stale), because: "the last session with it ended badly")
        } else {
            scan()
        }
    }

    private mutating func take(_ event: CentralEvent) {
        if case .unavailable(let error) = event {
            switch phase {
            case .scanning, .connecting, .recovering: return fail(error)
            case .disconnecting: return afterDisconnect()
            default: break
            }
        }
        switch (phase, event) {
        case (.scanning, .advertised(let advertisement)): consider(advertisement)
        case (.scanning, .scanFailed(let error)): fail(error)
        case (.connecting(let wanted), .connected(let peer, let mtu)) where wanted == peer: beginSession(mtu: mtu)
        case (.connecting, .connectFailed(let error)), (.connecting, .disconnected(let error?)): fail(error)
        case (.connecting, .mtuChanged): break
        case (.recovering, .recovered(let sentence)): recovered(sentence)
        case (.recovering(nil), .disconnected): recovered(nil)
        case (.disconnecting, .disconnected): afterDisconnect()
        case (.session, _): session?.handle(event, &work)
        default: break
        }
    }

    private mutating func take(_ reply: JournalReply) {
        if phase == .finishing {
            if case .failed(let sentence) = reply { work.say(.warning, "The poll's end could not be noted: \(sentence)") }
            finish()
        } else {
            session?.handle(reply, &work)
        }
    }

    private mutating func tick() {
        if let started, !isOutOfTime, started.advanced(by: work.limits.poll) <= work.now { return outOfTime() }
        if phase == .session { session?.tick(&work) }
        guard let due = phaseDeadline, due <= work.now else { return }
        phaseDeadline = nil
        switch phase {
        case .scanning: scanTimedOut()
        case .connecting:
            work.perform(.disconnect)
            fail(LinkError(.connectFailed, "The bottle did not connect within \(work.limits.connect).", isTransient: true))
        case .recovering: recovered("no answer from the link in time")
        case .pausing: scan()
        case .disconnecting: afterDisconnect()
        case .session, .finishing: finish()
        case .idle, .over: break
        }
    }

    private mutating func outOfTime() {
        isOutOfTime = true
        let hasLog = work.report.received > 0 || session?.hasLog == true
        stop(
            PollFailure(
                phase == .scanning ? .notFound : .didNotAnswer,
                hasLog
                    ? "its log was not through after \(work.limits.poll); what had arrived is stored, and nothing of it was acknowledged."
                    : "the poll was not through after \(work.limits.poll).",
                advice: "Bring the bottle nearer and poll again: what is not acknowledged is still in it."))
    }

    // MARK: - Scan and connect

    private mutating func scan() {
        guard !isOutOfTime else { return close(nil) }
        phase = .scanning
        phaseDeadline = work.now.advanced(by: work.limits.scan)
        work.show(.scanning)
        work.perform(.startScan)
    }

    private mutating func consider(_ advertisement: Advertisement) {
        guard !strangers.contains(advertisement.peer) else { return }
        if work.hasRadio {
            if let wanted = work.options.bottle {
                guard BottleSelector(text: wanted).matches(address: advertisement.address, name: advertisement.name) else { return }
            } else {
                guard BottleSelector.looksLikeBottle(advertisement) else { return }
            }
        }
        peer = advertisement.peer
        work.address = advertisement.address
        work.report.name = advertisement.name.flatMap { BottleIdentity.name(Array($0.utf8)) }
        work.perform(.stopScan)
        phase = .connecting(advertisement.peer)
        // The link gives up by itself; ours is the limit for a link that does not.
        phaseDeadline = work.now.advanced(by: work.limits.connect + .milliseconds(500))
        work.show(.connecting)
        work.perform(.connect(advertisement.peer, limit: work.limits.connect))
    }

    private mutating func scanTimedOut() {
        work.perform(.stopScan)
        let who = work.options.bottle ?? "a WaterH bottle"
        if !strangers.isEmpty, work.report.failure != nil { return close(work.report.failure) }
        work.report.history.failedScans += 1
        fail(LinkError(.notFound, "Could not find bottle. Make sure it's nearby. (\(who), \(work.limits.scan) on \(work.linkName))", isTransient: true))
    }

    private mutating func beginSession(mtu: Int) {
        sessions += 1
        phaseDeadline = nil
        work.report.history.failedScans = 0
        phase = .session
        session = BottleSession(mtu: mtu)
        session?.begin(&work)
    }

    // MARK: - Ends of a session

    /// Moves on once the session has ended and the journal has answered for what it left.
    private mutating func followSession() {
        guard phase == .session, let session, let end = session.end, session.isSettled else { return }
        phaseDeadline = nil
        if let sentence = session.keeper.failure, work.report.failure == nil, end == .finished || !isFailure(end) {
            work.report.failure = PollFailure(
                .cannotStore, sentence, advice: "What was not stored was not acknowledged: the bottle still has it. Mend the store and poll again.")
            return disconnect(then: .finish)
        }
        switch end {
        case .finished:
            work.report.failure = nil
            work.report.history.suspectPeer = nil
            disconnect(then: .finish)
        case .failed(let failure):
            work.report.failure = failure
            disconnect(then: .finish)
        case .stranger(let failure):
            work.report.failure = failure
            if let peer { strangers.insert(peer) }
            let goesOn = work.hasRadio && work.options.bottle == nil && sessions < work.limits.sessions
            if goesOn { work.say(.info, failure.sentence + " Looking further.") }
            disconnect(then: goesOn ? .scan : .finish)
        case .lost(let error):
            disconnect(then: .recover(error))
        }
    }

    private func isFailure(_ end: BottleSession.End) -> Bool {
        if case .failed = end { return true }
        return false
    }

    private mutating func disconnect(then next: Next) {
        session = nil
        self.next = next
        phase = .disconnecting
        phaseDeadline = work.now.advanced(by: work.limits.closing)
        work.show(.disconnecting)
        work.perform(.disconnect)
    }

    private mutating func afterDisconnect() {
        switch next {
        case .scan: scan()
        case .recover(let error): fail(error)
        case .finish: close(work.report.failure)
        }
    }

    // MARK: - Failures and recovery

    private mutating func fail(_ error: LinkError) {
        if phase == .scanning { work.perform(.stopScan) }
        let count = failures[error.code, default: 0]
        failures[error.code] = count + 1
        let rung =
            isOutOfTime || sessions >= work.limits.sessions
            ? nil : RetryTable.rung(for: error, count: count, hasRadio: work.hasRadio, allowPowerCycle: work.options.allowPowerCycle)
        guard let rung else {
            let rule = RetryTable.rule(for: error.code)
            if work.hasRadio, let peer { work.report.history.suspectPeer = peer.text }
            return close(PollFailure(rule.failure, error.description, advice: rule.advice))
        }
        climb(rung, peer, because: error.description, pause: RetryTable.rule(for: error.code).pause)
    }

    private mutating func climb(_ rung: RecoveryRung, _ peer: PeerID?, because reason: String, pause: Duration = .zero) {
        work.report.recovery.append(RecoveryStep(rung: rung, reason: reason))
        work.say(.info, "\(reason) Next: \(rung.words).")
        switch rung {
        case .forget where peer != nil:
            phase = .recovering(peer)
            if let peer { work.perform(.forget(peer)) }
        case .powerCycle:
            phase = .recovering(peer)
            work.perform(.powerCycle)
        case .disconnect:
            phase = .recovering(nil)
            work.perform(.disconnect)
        case .retry, .restartDiscovery, .forget:
            phase = .pausing
        }
        phaseDeadline = work.now.advanced(by: phase == .pausing ? pause : work.limits.connect)
    }

    private mutating func recovered(_ outcome: String?) {
        if let outcome, !work.report.recovery.isEmpty { work.report.recovery[work.report.recovery.count - 1].outcome = outcome }
        phase = .pausing
        phaseDeadline = work.now.advanced(by: .milliseconds(100))
    }

    /// Stops whatever is under way and ends the poll with what there is.
    private mutating func stop(_ failure: PollFailure) {
        switch phase {
        case .session:
            // The session may have come to its end already and wait for the journal.
            session?.stop(failure, &work)
            phaseDeadline = work.now.advanced(by: work.limits.closing)
        case .scanning:
            work.perform(.stopScan)
            close(failure)
        case .connecting, .recovering:
            work.report.failure = failure
            disconnect(then: .finish)
        case .disconnecting:
            if next != .finish { work.report.failure = failure }
            next = .finish
        case .idle, .pausing:
            close(failure)
        case .finishing, .over:
            break
        }
    }

    // MARK: - The end

    /// Notes the poll's end in the journal, where there is something to note.
    private mutating func close(_ failure: PollFailure?) {
        work.report.failure = failure
        if failure?.kind == .notFound, work.hasRadio, work.options.allowPowerCycle == false, work.report.history.failedScans >= 3 {
            work.say(.info, "Three scans in a row found nothing: switching the adapter off and on may help (--allow-power-cycle).")
        }
        guard let bottle = work.report.bottle, work.options.job == .poll, failure?.kind != .cannotStore else { return finish() }
        phase = .finishing
        phaseDeadline = work.now.advanced(by: work.limits.closing)
        let report = work.report
        work.emit(
            .journal(
                .finishPoll(
                    PollRecord(
                        bottle: bottle, name: report.name, model: report.model?.rawValue, batteryPercent: report.batteryPercent,
                        clockDriftSeconds: report.clockDriftSeconds, endedAt: work.wall, complete: report.complete))))
    }

    private mutating func finish() {
        phase = .over
        phaseDeadline = nil
        work.report.endedAt = work.wall
        work.report.duration = started.map { $0.duration(to: work.now) } ?? .zero
        if work.report.model == nil { work.report.model = Self.model(named: work.report.name) }
        work.emit(.done(work.report))
    }

    /// `WaterH-Boost-24oz` says what it is. The names of the other bottles do not.
    private static func model(named name: String?) -> BottleModel? {
        guard let name = name?.lowercased() else { return nil }
        return BottleModel.allCases.first { name.contains($0.rawValue) }
    }
}

extension RecoveryRung {
    /// What is being done, for people.
    var words: String {
        switch self {
        case .retry: "try again"
        case .disconnect: "end the old connection"
        case .forget: "let the system forget the bottle"
        case .restartDiscovery: "start the scan anew"
        case .powerCycle: "switch the adapter off and on"
        }
    }
}
