import BottleProtocol
import Bluetooth
import TrackerCore

/// One poll of one bottle, from scan to disconnect, as a machine without I/O: events go in, effects come out.
///
///     idle -> scanning -> connecting -> session -> disconnecting -> finishing -> over
///                ^                         |
///                +------- recovering <-----+         (the rungs of `RetryTable`)
///
/// It keeps the three promises: nothing is acknowledged before the journal has it; a drink is who the bottle says it
/// is; totals are the journal's business. Time is handed in, so a simulation can hand in any.
package struct GatewayEngine {
    enum Phase: Hashable {
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
    enum Next: Hashable {
        case scan
        case recover(LinkError)
        case finish
    }

    var work: PollWork
    var phase = Phase.idle
    var session: BottleSession?
    var next = Next.finish
    var started: MonotonicInstant?
    var phaseDeadline: MonotonicInstant?
    var peer: PeerID?
    var strangers: Set<PeerID> = []
    /// Bottles that are not this store's.
    var others: [PeerID: Advertisement] = [:]
    var failures: [LinkError.Code: Int] = [:]
    var sessions = 0
    var isOutOfTime = false
    var heard = HeardPeers()
    /// The connection that an earlier poll kept, until it is taken up or ended.
    var resumed: HeldConnection?
    /// The connection that this poll keeps, once it is over.
    package internal(set) var held: HeldConnection?

    /// - Parameters:
    ///   - linkName: the link in words, `unix:/tmp/b.sock`; part of a bottle's stand-in identity.
    ///   - hasRadio: whether a scan finds peers by radio (`CentralLink.hasRadio`).
    ///   - held: the connection that an earlier poll kept, where it stands still.
    package init(options: PollOptions, linkName: String, hasRadio: Bool, held: HeldConnection? = nil) {
        resumed = held
        work = PollWork(options: options, linkName: linkName, hasRadio: hasRadio)
        work.report.history = options.history
    }

    /// When `tick` is due at the latest.
    package var nextDeadline: MonotonicInstant? {
        guard phase != .over, phase != .idle else { return nil }
        let budget = isOutOfTime ? nil : started?.advanced(by: work.limits.poll)
        return [phaseDeadline, phase == .session ? session?.deadline : nil, budget].compactMap { $0 }.min()
    }

    /// Nothing more will happen; the report is complete.
    package var isOver: Bool { phase == .over }

    /// - Parameters:
    ///   - now: for deadlines.
    ///   - wall: when records count as received, and what the bottle's clock is compared with.
    package mutating func handle(_ event: EngineEvent, at now: MonotonicInstant, wall: Instant) -> [EngineEffect] {
        guard phase != .over else { return [] }
        work.effects = []
        work.now = now
        // One poll has one clock: what is set in the middle of it counts from the next poll on.
        let began = work.began ?? (now, wall)
        work.began = began
        work.wall = began.wall.advanced(seconds: began.now.duration(to: now) / .seconds(1))
        switch event {
        case .start: start()
        case .link(let event): take(event)
        case .journal(let reply): take(reply)
        case .todayTotal(let total): session?.takeTotal(total, &work)
        case .light(let light): session?.takeLight(light, &work)
        case .tick: tick()
        case .cancel: stop(PollFailure(.interrupted, "the poll was stopped."))
        }
        followSession()
        return work.effects
    }

    // MARK: - Events

    mutating func start() {
        guard phase == .idle else { return }
        started = work.now
        work.budgetEnd = work.now.advanced(by: work.limits.poll)
        if startHeld() { return }
        if work.hasRadio, let stale = work.options.history.suspectPeer {
            climb(.forget, PeerID(stale), because: "the last session with it ended badly")
        } else {
            scan()
        }
    }

    mutating func take(_ event: CentralEvent) {
        if case .remark(let sentence) = event { return remark(sentence) }
        if held != nil { return noteHeld(event) }
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

    mutating func take(_ reply: JournalReply) {
        if phase == .finishing {
            if case .failed(let sentence) = reply {
                work.say(.warning, "The poll's end could not be noted: \(sentence)")
            }
            finish()
        } else {
            session?.handle(reply, &work)
        }
    }

    mutating func tick() {
        if let started, !isOutOfTime, started.advanced(by: work.limits.poll) <= work.now { return outOfTime() }
        if phase == .session { session?.tick(&work) }
        guard let due = phaseDeadline, due <= work.now else { return }
        phaseDeadline = nil
        switch phase {
        case .scanning: scanTimedOut()
        case .connecting:
            work.perform(.disconnect)
            fail(
                LinkError(
                    .connectFailed, "The bottle did not connect within \(work.limits.connect).", isTransient: true))
        case .recovering: recovered("no answer from the link in time")
        case .pausing: scan()
        case .disconnecting: afterDisconnect()
        case .session, .finishing: finish()
        case .idle, .over: break
        }
    }

    mutating func outOfTime() {
        isOutOfTime = true
        if sessions == 0, let failure = absence() { return stop(failure) }
        let hasLog = work.report.received > 0 || session?.hasLog == true
        stop(
            PollFailure(
                .didNotAnswer,
                hasLog
                    ? """
                    its log was not through after \(work.limits.poll); what had arrived is stored, and nothing \
                    uncertain was acknowledged.
                    """
                    : "the poll was not through after \(work.limits.poll).\(othersSeen)",
                code: "outOfTime", values: othersValues))
    }

    /// Stops whatever is under way and ends the poll with what there is.
    mutating func stop(_ failure: PollFailure) {
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
    mutating func close(_ failure: PollFailure?) {
        work.report.failure = failure
        if failure?.kind == .notFound, work.hasRadio, work.options.allowPowerCycle == false,
            work.report.history.failedScans >= 3
        {
            work.say(
                .info, "Three scans in a row found nothing: switching the adapter off and on may help.",
                code: "powerCycleMayHelp")
        }
        // One that never spoke has left nothing to remember.
        let hasSpoken = work.isAnswered || work.options.isRecording && work.isRecalled
        guard let bottle = work.report.identity, hasSpoken, work.options.job == .poll, failure?.kind != .cannotStore
        else { return finish() }
        phase = .finishing
        phaseDeadline = work.now.advanced(by: work.limits.closing)
        let report = work.report
        // A recording tells what the bottle is, and nothing of how it is now.
        let record =
            work.options.isRecording
            ? PollRecord(
                bottle: bottle, name: report.name, model: report.model?.rawValue, endedAt: work.wall, complete: false,
                isClockDoubtful: true)
            : PollRecord(
                bottle: bottle, name: report.name, model: report.model?.rawValue, batteryPercent: report.batteryPercent,
                clockDriftSeconds: report.clockDriftSeconds, endedAt: work.wall, complete: report.complete,
                isClockDoubtful: work.clock?.isBelieved != true, clock: work.options.host == nil ? nil : work.clockMark,
                isClockWitnessed: work.isClockWitnessed,
                isBottleClockRight: work.isBottleClockRight, agreement: work.agreement)
        work.emit(.journal(.finishPoll(record)))
    }

    mutating func finish() {
        phase = .over
        phaseDeadline = nil
        work.report.endedAt = work.wall
        work.report.failure?.values["link"] = work.linkName
        work.report.failure?.values["hasRadio"] = "\(work.hasRadio)"
        work.report.duration = started.map { $0.duration(to: work.now) } ?? .zero
        if work.report.model == nil { work.report.model = work.report.name.flatMap(BottleModel.init(advertisedName:)) }
        work.emit(.done(work.report))
    }
}
