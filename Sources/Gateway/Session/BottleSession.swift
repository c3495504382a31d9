import BottleProtocol
import Bluetooth
import TrackerCore

/// One connection with a bottle, from discovery to the last word: the polite sync of protocol law P4, step
/// by step, waiting for answers instead of sleeping.
///
/// The steps are a list; each begins, takes events, and hands over to the next. A step that only serves comfort (name,
/// snapshot, settings, amount) gives up with a warning; the log and what it needs end the session.
struct BottleSession {
    enum Step: String, Hashable, Sendable {
        case discover, readName, readSerial, identify, recognise, recall, subscribe, snapshot, settings, askTotal,
            amount, log, lookAgain, settingsAfter
        case askTotalAfter, amountAfter, askLight, light, send

        /// Steps without which the log can be read all the same. Name and serial number are not among them: an identity
        /// that depends on which answers got lost today would make every drink a new one tomorrow (promise 2).
        var isComfort: Bool {
            switch self {
            case .snapshot, .settings, .askTotal, .amount, .settingsAfter, .askTotalAfter, .amountAfter, .askLight,
                .light:
                true
            case .discover, .readName, .readSerial, .identify, .recognise, .recall, .subscribe, .log, .lookAgain, .send:
                false
            }
        }

        /// The log is read and acknowledged: what goes wrong now ends a poll that did all it should.
        var isAfterLog: Bool {
            switch self {
            case .askTotalAfter, .amountAfter, .askLight, .light: true
            default: false
            }
        }
    }

    enum End: Hashable, Sendable {
        /// All steps are through.
        case finished
        /// The link failed.
        case lost(LinkError)
        /// The talk went wrong for a reason that another connection does not mend.
        case failed(PollFailure)
        /// This is not the bottle that was meant, or no bottle at all.
        case stranger(PollFailure)
    }

    var end: End?
    /// Who the bottle is has to be found out from its log first.
    var recognition: Recognition?
    var step = Step.discover
    var keeper = JournalKeeper()

    var upcoming: [Step] = []
    var table: BottleTable?
    var assembler = LogAssembler()
    var drain: LogDrain?
    var exchange: CommandExchange?
    var requestDeadline: MonotonicInstant?
    /// Writes that the link has not answered yet. It answers them in their order, and the bottle may send what it was
    /// asked for before it says that the question arrived: that is not the answer to what was written next.
    var writesUnderWay = 0 { didSet { drain?.isWriting = writesUnderWay > 0 } }
    var total: Int?
    /// What the bottle's light is to show from now on.
    var light: BottleLight?
    /// The link took a request and said nothing: such a connection is not kept.
    var isSilent = false
    var commands: [HostCommand] = []
    var junk = 0
    var mtu: Int
    /// To be written once the journal has noted that the bottle's clock is set.
    var isNotingClock = false
    /// Settings and clock were written before the log.
    var isSettingDone = false
    /// A notification filled a small MTU: its rest may be lost, and then the bytes after it are out of step. Whole
    /// frames prove themselves by their length; of unfinished ones the bytes are kept, not the records.
    var isCut = false
    /// A value went on with the frame before: what was cut comes in pieces, and nothing of it is lost.
    var isJoined = false
    /// The bottle took the subscription.
    var isListening = false
    /// The connection was kept from an earlier poll.
    var isResumed = false
    /// And answers to its questions may still be on their way.
    var wasBehind = false
    /// What the bottle said of itself in an earlier poll on this connection, and was not asked for again.
    private var trusted: HeldConnection.Facts?
    /// Values of this dump were cut in the middle of entries: a lost or late piece puts all behind it out of step.
    var isPieced = false

    /// A full log notification has 110 bytes, and three of ATT's (protocol law P3.6).
    static let logMTU = 113

    init(mtu: Int) {
        self.mtu = mtu
    }

    /// Whether nothing is under way any more: the engine may go on after `end`.
    var isSettled: Bool { keeper.isSettled }

    /// Some of the log has arrived.
    var hasLog: Bool { (drain?.taken ?? 0) > 0 || assembler.progress != nil }

    var deadline: MonotonicInstant? {
        guard end == nil else { return nil }
        return [requestDeadline, exchange?.deadline, drain?.deadline].compactMap { $0 }.min()
    }

    // MARK: - Events

    mutating func begin(_ work: inout PollWork) {
        work.show(.connected)
        expect(.discover, &work, within: work.limits.discover)
    }

    /// Goes on with a connection that was kept: who it is with is known, and it was subscribed to.
    mutating func resume(_ held: HeldConnection, _ work: inout PollWork) {
        table = held.table
        isListening = held.isListening
        (isResumed, wasBehind) = (true, held.isBehind)
        work.report.profile = held.table.profile
        if case .send(let list) = work.options.job { commands = list }
        var known: Set<Step> = [.readName, .readSerial, .subscribe]
        if let facts = held.facts, facts.isFresh(work) {
            (work.report.snapshot, work.report.batteryPercent, work.report.clockDriftSeconds) = (
                facts.snapshot, facts.batteryPercent, facts.driftSeconds
            )
            work.snapshotAt = (facts.now, facts.wall)
            trusted = facts
            known.formUnion([.snapshot, .settings, .askTotal, .amount])
        }
        upcoming = plan(held.table, work).filter { !known.contains($0) }
        advance(&work)
    }

    /// Records that cannot be of the time since the bottle told its clock: it shows another time by now.
    func isOutdated(by records: [[UInt8]], _ work: PollWork) -> Bool {
        guard let trusted, recognition == nil else { return false }
        let dating = RecordDating(
            bottle: work.bottle, options: work.options, received: work.wall, drift: trusted.driftSeconds)
        let times = dating.times(records)
        let (first, last) = (
            trusted.wall.advanced(seconds: -Self.outdatedSeconds), work.wall.advanced(seconds: Self.outdatedSeconds)
        )
        return times.count < records.count
            || times.contains { !(first...last).contains($0.instant.advanced(seconds: -Double(trusted.driftSeconds))) }
    }

    /// A sip is noted when the bottle stands again; beyond that a record is of another clock.
    private static let outdatedSeconds: Double = 120

    /// Asks the bottle for its clock, and for the log once more: nothing of this reading is journaled yet, and nothing
    /// was acknowledged.
    mutating func askAnew(_ work: inout PollWork) {
        guard let table else { return }
        trusted = nil
        wasBehind = drain?.isBehind ?? wasBehind
        drain = nil
        (work.report.snapshot, work.report.clockDriftSeconds, work.snapshotAt) = (nil, nil, nil)
        let known: Set<Step> = [.readName, .readSerial, .identify, .recall, .subscribe]
        upcoming = plan(table, work).filter { !known.contains($0) }
        advance(&work)
    }

    mutating func handle(_ event: CentralEvent, _ work: inout PollWork) {
        if case .mtuChanged(let size) = event { mtu = size }
        if case .disconnected(let error) = event { return lose(error, &work) }
        if case .unavailable(let error) = event { return lose(error, &work) }
        guard end == nil else { return }
        if case .notification(let handle, let value) = event {
            if handle == table?.response { receive(value, &work) }
            return
        }
        switch step {
        case .discover: discovered(event, &work)
        case .readName, .readSerial: identityRead(event, &work)
        case .subscribe: subscribed(event, &work)
        default: requestAnswered(event, &work)
        }
        giveUpIfJournalFailed(&work)
    }

    mutating func handle(_ reply: JournalReply, _ work: inout PollWork) {
        keeper.take(reply, &work)
        guard end == nil else { return }
        if giveUpIfJournalFailed(&work) { return }
        guard keeper.isSettled else { return }
        if recognition != nil { return recognised(&work) }
        if step == .recall || step == .lookAgain { return advance(&work) }
        if step == .settingsAfter, isNotingClock {
            isNotingClock = false
            if keeper.isClockSettingNoted, let command = SettingsPlan.command(work) {
                start(command, &work)
            } else {
                advance(&work)
            }
            return
        }
        if drain?.phase == .settling { settled(&work) }
    }

    mutating func takeTotal(_ value: Int?, _ work: inout PollWork) {
        guard end == nil, step == .askTotal || step == .askTotalAfter else { return }
        total = value
        advance(&work)
    }

    mutating func takeLight(_ value: BottleLight?, _ work: inout PollWork) {
        guard end == nil, step == .askLight else { return }
        light = value
        advance(&work)
    }

    mutating func tick(_ work: inout PollWork) {
        guard end == nil else { return }
        if let due = requestDeadline, due <= work.now { return requestTimedOut(&work) }
        if let due = exchange?.deadline, due <= work.now { exchangeTick(&work) }
        if let actions = drain?.tick(at: work.now) { follow(actions, &work) }
    }

    /// The poll's time is over, or somebody wants us to stop: keeps what has arrived, acknowledges nothing more.
    mutating func stop(_ failure: PollFailure, _ work: inout PollWork) {
        guard end == nil else { return }
        if step.isAfterLog, failure.kind == .didNotAnswer { return end = .finished }
        keepRest(&work)
        guard failure.kind == .didNotAnswer, drain?.hasRead == true else {
            end = .failed(failure)
            return
        }
        // The log was read whole and is stored: what there was no time for is to confirm and acknowledge it.
        work.report.complete = true
        work.say(
            .warning,
            """
            About the log: it was read whole and is stored; there was no time to acknowledge all of it, and the \
            next poll does that.
            """
        )
        end = .finished
    }

    // MARK: - Steps

    mutating func advance(_ work: inout PollWork) {
        requestDeadline = nil
        exchange = nil
        guard !upcoming.isEmpty else {
            end = .finished
            return
        }
        step = upcoming.removeFirst()
        if step.isComfort, work.skipped.contains(step) { return advance(&work) }
        begin(step, &work)
    }

    mutating func begin(_ step: Step, _ work: inout PollWork) {
        guard let table else { return }
        switch step {
        case .discover:
            break
        case .readName:
            guard let handle = table.deviceName, work.report.name == nil else { return advance(&work) }
            expect(.read(handle: handle), &work, within: work.limits.request)
        case .readSerial:
            guard let handle = table.serialNumber, work.address == nil else { return advance(&work) }
            expect(.read(handle: handle), &work, within: work.limits.request)
        case .identify:
            identify(&work)
        case .recognise:
            beginRecognition(table, &work)
        case .recall:
            work.isRecalled = true
            keeper.recall(work.names, &work)
        case .subscribe:
            guard table.responseNotifies else { return advance(&work) }
            expect(.subscribe(handle: table.response), &work, within: work.limits.request)
        case .snapshot:
            work.show(.polling)
            start(.snapshot, &work)
        case .settings:
            // Before the log is read nobody can say whose clock is right, where they are far apart.
            guard judge([], work).isBelieved, !SettingsPlan.isOfAnotherTime(work) else { return advance(&work) }
            guard let command = SettingsPlan.command(work) else { return advance(&work) }
            (isSettingDone, work.isClockSet) = (true, command.setsClock)
            SettingsPlan.announce(command, &work)
            start(command, &work)
        case .lookAgain:
            guard work.clock?.tellsDays == true else { return advance(&work) }
            keeper.lookAgain(bottle: work.bottle, &work)
        case .settingsAfter:
            let mayFollow = !isSettingDone && work.clock?.isBelieved == true
            guard let command = (mayFollow ? SettingsPlan.command(work) : nil) ?? SettingsPlan.goal(work) else {
                return advance(&work)
            }
            SettingsPlan.announce(command, &work)
            if command.setsClock { work.isClockSet = true }
            guard SettingsPlan.isOfAnotherTime(work), command.setsClock else { return start(command, &work) }
            isNotingClock = true
            keeper.noteClockSetting(bottle: work.bottle, &work)
        case .askTotal, .askTotalAfter:
            work.emit(.askTodayTotal)
        case .amount, .amountAfter:
            let isKnown = keeper.lastPoll != nil
            guard
                let command = SettingsPlan.amount(
                    total: total, after: step == .amountAfter, isKnownBottle: isKnown, work.report)
            else {
                return advance(&work)
            }
            work.report.snapshot?.amountMl = total
            start(command, &work)
        case .askLight:
            work.emit(.askLight(bottle: work.bottle))
        case .light:
            guard let light else { return advance(&work) }
            commands = LightPlan.commands(for: light)
            next(&work)
        case .log:
            beginLog(table, &work)
        case .send:
            guard !commands.isEmpty else { return advance(&work) }
            start(commands.removeFirst(), &work)
        }
    }

    func plan(_ table: BottleTable, _ work: PollWork) -> [Step] {
        let opening: [Step] = [.readName, .readSerial, .identify]
        if case .send = work.options.job { return opening + [.subscribe, .send] }
        if work.options.job == .meet { return opening }
        let amount = work.options.managesTodayAmount
        guard table.profile == .retail else { return opening + [.recall, .subscribe, .log, .lookAgain] }
        return opening + [.recall, .subscribe, .snapshot, .settings] + (amount ? [.askTotal, .amount] : []) + [
            .log, .lookAgain, .settingsAfter,
        ]
            + (amount ? [.askTotalAfter, .amountAfter] : []) + (work.options.managesLight ? [.askLight, .light] : [])
    }

    // MARK: - Ends

    mutating func lose(_ error: LinkError?, _ work: inout PollWork) {
        guard end == nil else { return }
        keepRest(&work)
        if let drain, drain.hasRead { work.report.complete = true }
        // Whether an acknowledgement was taken shows on the next connection.
        if drain?.isVerifying == true { drain?.evidence.hungUp = true }
        noteEvidence(&work)
        if step.isComfort {
            work.skipped.insert(step)
            if step.isAfterLog {
                (isSilent, end) = (true, .finished)
                return
            }
        }
        end = .lost(error ?? LinkError(.disconnected, "The bottle ended the connection.", isTransient: true))
    }

    /// Journals what has arrived and is not journaled yet. Nothing of it is acknowledged on this connection any more.
    mutating func keepRest(_ work: inout PollWork) {
        guard work.report.identity != nil, drain != nil, recognition == nil else { return }
        take(assembler.finish(), &work)
        guard let round = drain?.takeRound() else { return }
        judgeClock(round.all, &work)
        // Nobody knows what of it is missing.
        keeper.store(round.all, doubts: PieceDoubts(unproven: round.unproven), bottle: work.bottle, &work)
    }

    @discardableResult
    mutating func giveUpIfJournalFailed(_ work: inout PollWork) -> Bool {
        guard end == nil, let sentence = keeper.failure else { return end != nil }
        end = .failed(
            PollFailure(
                keeper.failureKind, sentence.hasSuffix(".") ? sentence : sentence + "."))
        return true
    }
}
