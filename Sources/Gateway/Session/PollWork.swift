import BottleProtocol
import Bluetooth
import TrackerCore

/// What the parts of one poll share: the options, the report as it grows, and the effects of the event at hand.
struct PollWork {
    private(set) var options: PollOptions
    /// For people: `unix:/tmp/b.sock`.
    let linkName: String
    let hasRadio: Bool
    var report = PollReport()
    var effects: [EngineEffect] = []
    var now = MonotonicInstant(nanoseconds: 0)
    var wall = Instant(milliseconds: 0)
    /// When the poll began.
    var began: (now: MonotonicInstant, wall: Instant)?
    /// Records that the journal has taken in this poll: delivered once more (a second dump, a second connection) they
    /// are neither counted nor journaled again.
    var journaled: Set<[UInt8]> = []
    /// Of those, the ones that it had before this poll.
    var known: Set<[UInt8]> = []
    /// Of those, the ones that an earlier poll stored as what they are. What it stored with a doubt may have come in
    /// pieces, and then that poll is no second opinion on what was in the bottle.
    var settled: Set<[UInt8]> = []
    /// Records that it has with a doubt (`JournalDoubt.pieced`) since this poll, until that is dispelled
    /// (`PieceDoubts`).
    var unproven: Set<[UInt8]> = []
    /// What the readings of this poll have shown of the log, over all connections.
    var evidence = LogEvidence()
    /// When the poll's time is over.
    var budgetEnd: MonotonicInstant?
    /// Whether the host's clock can be right; `nil` before the log has been looked at.
    var clock: HostClock.Verdict?
    /// Somebody else agrees with it.
    var isClockWitnessed = true
    /// What was remembered of the bottle when its clock was judged, and whether it was set after that.
    var memory: BottleMemory?
    var isClockSet = false
    /// Records took part in that.
    var isClockJudgedByLog = false
    /// Optional steps in which the connection was lost: left out on the next one.
    var skipped: Set<BottleSession.Step> = []
    /// A table that was no bottle's has been forgotten and read again: once in a poll.
    var isRediscovered = false
    /// Values received beside the log.
    var notifications = 0
    /// The journal was asked about this bottle; nothing is noted of one that was only looked at.
    var isRecalled = false
    /// The bottle has spoken, and the journal knows that it is its own.
    var isAnswered = false
    /// When the snapshot came that the report shows.
    var snapshotAt: (now: MonotonicInstant, wall: Instant)?
    /// What the scan showed of the peer.
    var seen: Advertisement?
    /// The peer's address, where it is one that stays.
    var address: BluetoothAddress? { seen?.isAddressPrivate == true ? nil : seen?.address }

    /// This computer's clock, now.
    var clockMark: ClockMark {
        guard let host = options.host, let began else { return ClockMark(wall: wall) }
        var mark = host.advanced(milliseconds: Int64(began.now.duration(to: now) / .milliseconds(1)))
        // It was set before the first look at it.
        if abs(mark.wall.seconds(to: wall)) > 60 { mark.isSynchronized = nil }
        mark.wall = wall
        return mark.shown(in: options.zone)
    }

    /// The bottle shows what a clock shows that is known to be right, and its log was read.
    var isBottleClockRight: Bool {
        guard report.complete, clock == .believed, isVouched, let drift = report.clockDriftSeconds else { return false }
        return Double(drift.magnitude) <= HostClock.tolerance
    }

    /// A time server or a person says that this computer's clock is right.
    private var isVouched: Bool { options.trustsClock || clockMark.isSynchronized == true }

    /// Whether the bottle's clock is right to the minute at the poll's end, so far as somebody can know: a time server
    /// or a person says that this computer's is, or the bottle has gone on by itself and shows the same.
    var agreement: ClockAgreement? {
        guard clock?.isBelieved == true, options.host != nil, let memory, let drift = report.clockDriftSeconds else {
            return nil
        }
        let isNear = Double(drift.magnitude) <= HostClock.small
        let isOwn = isNear && memory.agreement == nil && memory.clockSettings.isEmpty
        let kept = memory.agreement.flatMap { kept in
            let isUntouched = kept.at <= wall && memory.clockSettings.allSatisfy { $0.mark.wall <= kept.at }
            return isUntouched && HostClock.isKept(drift, since: kept, host: wall, zone: options.zone) ? kept : nil
        }
        guard isVouched && (isNear || isClockSet) || isOwn || kept != nil else { return nil }
        let now = options.zone.offsetSeconds(at: wall)
        return ClockAgreement(at: wall, zoneOffset: isNear || isClockSet ? now : kept?.zoneOffset ?? now)
    }

    /// Who tells the year of a record that has none.
    func yearTeller(_ memory: BottleMemory) -> YearTeller {
        options.host == nil ? .notAsked : YearTeller(clockMark, isWitnessed: isClockWitnessed, memory)
    }

    /// A time server or a person says that this computer's clock is right: what counts later than this cannot have been
    /// drunk.
    var aheadLimit: Instant? { options.aheadLimit(clockMark) }

    /// The times in which this bottle's clock was an echo of this computer's.
    func echoes(_ memory: BottleMemory) -> [BottleEcho] {
        let (mark, drift) = (clockMark, report.clockDriftSeconds)
        let settings = HostClock.heardSettings(memory, drift: drift, mark)
        return BottleEcho.found(in: settings, host: mark, drift: drift, isVouched: isVouched) {
            !isClockWitnessed && HostClock.isVouched($0, memory)
        }
    }

    /// It shows nothing that is its own but its name: no address that stays, no serial number.
    var isHidden: Bool { seen?.isAddressPrivate == true && serialNumber == nil }
    var serialNumber: String?
    /// Who a bottle that hides has turned out to be in this poll.
    var recognised: String?
    /// What such a bottle would be known by else.
    var standIn: String? {
        guard isHidden, let name = report.name, let standIn = BottleIdentity.standIn(privateName: name),
            standIn != bottle
        else { return nil }
        return standIn
    }

    /// Who the bottle is, for the journal.
    var names: BottleNames { BottleNames(bottle, alias: options.alias, standIn: standIn) }

    /// What the bottle's records are kept under.
    var bottle: String { report.identity ?? linkName }
    var limits: PollLimits { options.limits }

    /// Who the bottle is, is certain: from here on it is read by its own settings, where it has any.
    mutating func followSettings(of identity: String) {
        options = options.following(options.own.first { $0.answers(to: identity, alias: options.alias) })
    }

    mutating func emit(_ effect: EngineEffect) { effects.append(effect) }

    mutating func perform(_ request: CentralRequest) { effects.append(.link(request)) }

    mutating func say(_ severity: Diagnostic.Severity, _ sentence: String, code: String? = nil) {
        effects.append(.diagnostic(Diagnostic(severity, sentence, code: code)))
    }

    mutating func show(_ stage: PollProgress.Stage, _ transfer: PollProgress.Transfer? = nil) {
        effects.append(.progress(PollProgress(stage: stage, records: report.received, transfer: transfer)))
    }
}
