import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import TrackerCore

/// A bottle that has a clock: it runs on truly, shows what it was set to, and is lost without power.
struct ClockedBottle: ScriptedPeer {
    var inner: ScriptedBottle
    /// True time at the poll's start.
    var truth: Instant
    /// Seconds that its clock is ahead of the truth; `nil`: lost.
    var offset: Double? = 0
    /// It says what its clock shows. An answer that is lost says nothing.
    var showsClock = true
    /// What sets its clock arrives.
    var hearsClock = true
    /// Byte 0 of its records is no year but always the same, as the founding documents have it.
    var isYearless = false

    init(truth: Instant) {
        inner = ScriptedBottle()
        self.truth = truth
    }

    mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> [(
        after: Duration, event: CentralEvent
    )] {
        let time = truth.advanced(seconds: Double(now.nanoseconds) / 1e9)
        inner.snapshot = showsClock ? boostSnapshot(clock: fields(at: time)) : nil
        if hearsClock, case .write(_, let value, _) = request {
            switch HostCommand(decoding: value) {
            case .clock(let clock), .settings(_, let clock, _):
                let wall = WallTime(
                    year: clock.year, month: Int(clock.month), day: Int(clock.day), hour: Int(clock.hour),
                    minute: Int(clock.minute), second: Int(clock.second))
                if case .once(let set) = Zone.utc.moments(of: wall) { offset = time.seconds(to: set) }
            default: break
            }
        }
        return inner.handle(request, at: now)
    }

    mutating func drink(_ ml: Int, at time: Instant) {
        var fields = fields(at: time)
        if isYearless { fields[0] = 0x1A }
        inner.drink([fields + [UInt8(ml >> 8), UInt8(ml & 0xFF), 0, 0, 1, 0x61, 0]])
    }

    private func fields(at time: Instant) -> [UInt8] {
        offset.flatMap { BottleClock(Zone.utc.wall(at: time.advanced(seconds: $0)))?.encoded } ?? [0, 0, 0, 0, 0, 0]
    }
}

/// True time, a computer whose clock is off by what somebody set, and a bottle: a history, step by step.
struct ClockWorld {
    static let day = 86_400.0

    let journal = MemoryJournal()
    private(set) var truth = evening
    private(set) var bottle = ClockedBottle(truth: evening)
    /// Seconds that the computer's clock is ahead of the truth.
    var host = 0.0
    /// A time server is there: it keeps the clock right while it is right.
    var hasTimeServer = false
    /// How records are read.
    var dialect = BottleProtocol.RecordDialect.calendar
    /// What is not known where this is `false`: starts and uptimes.
    var knowsBoots = true
    private var boot: Int64 = 1
    private var booted = evening.advanced(seconds: -86_400)
    /// When each sip was made, by its amount, and whether the bottle had a clock then.
    private(set) var sips: [Int: (at: Instant, hasDate: Bool)] = [:]
    /// What was written to the bottle at the last poll.
    private(set) var written: [HostCommand] = []
    private(set) var warnings: [String] = []

    mutating func pass(_ seconds: Double) {
        truth = truth.advanced(seconds: seconds)
        bottle.truth = truth
    }

    mutating func sip() {
        pass(60)
        let ml = 10 + sips.count
        sips[ml] = (truth, bottle.offset != nil)
        bottle.drink(ml, at: truth)
    }

    mutating func restart() {
        boot += 1
        booted = truth
    }

    mutating func losePower() { bottle.offset = nil }
    /// For a while the bottle gives nothing of its log, as where the link loses all of it.
    mutating func withoutLog(_ body: (inout ClockWorld) throws -> Void) rethrows {
        let records = bottle.inner.records
        bottle.inner.records = []
        try body(&self)
        bottle.inner.records = records + bottle.inner.records
    }
    var records: [[UInt8]] { bottle.inner.records }
    /// The order in which the bottle's records arrive.
    mutating func reorder(_ order: ([[UInt8]]) -> [[UInt8]]) { bottle.inner.records = order(bottle.inner.records) }
    var showsClock: Bool {
        get { bottle.showsClock }
        set { bottle.showsClock = newValue }
    }
    var hearsClock: Bool {
        get { bottle.hearsClock }
        set { bottle.hearsClock = newValue }
    }
    var isYearless: Bool {
        get { bottle.isYearless }
        set { bottle.isYearless = newValue }
    }
    mutating func setBottle(_ offset: Double) { bottle.offset = offset }

    @discardableResult
    mutating func poll(killAfter effects: Int? = nil, _ change: (inout PollOptions) -> Void = { _ in }) throws
        -> PollReport
    {
        pass(5)
        let wall = truth.advanced(seconds: host)
        var options = options(change)
        options.dialect = dialect
        options.host = ClockMark(
            wall: wall, boot: knowsBoots ? boot : nil, uptime: Int64(booted.seconds(to: truth) * 1000),
            isSynchronized: hasTimeServer ? host == 0 : nil)
        var rig = EngineRig(options: options, peer: bottle, journal: journal, start: wall)
        if let effects { rig.run(effects: effects) }
        let report = effects == nil ? try rig.run() : PollReport()
        bottle = rig.peer
        written = rig.written
        warnings = rig.diagnostics.filter { $0.severity == .warning }.map(\.sentence)
        pass(Double(rig.now.nanoseconds) / 1e9)
        return report
    }

    var isAcknowledged: Bool { written.contains { if case .acknowledge = $0 { true } else { false } } }
    var isClockSet: Bool { written.contains { if case .clock = $0 { true } else { false } } }
    var waiting: Int { bottle.inner.records.count }
    var isBottleRight: Bool { bottle.offset.map { abs($0) <= 130 } ?? false }

    var countsAll: Bool { journal.entries.allSatisfy { if case .drink = $0.verdict { true } else { false } } }

    /// Its clock is right for that zone.
    func bottle(shows zone: Zone) -> Bool {
        bottle.offset.map { abs($0 - Double(zone.offsetSeconds(at: truth))) <= 130 } ?? false
    }

    /// Sips that count on a day that is not theirs, that count nowhere though their date is right, or that are gone.
    var broken: [String] {
        var found: [String] = []
        let held = Dictionary(grouping: journal.entries, by: \.amountMl)
        for (ml, sip) in sips.sorted(by: { $0.key < $1.key }) {
            guard let entries = held[ml], entries.count == 1, let entry = entries.first else {
                found.append("\(ml) ml is \(held[ml]?.count ?? 0) rows")
                continue
            }
            switch entry.verdict {
            case .drink(let at, _):
                if abs(at.seconds(to: sip.at)) > Self.day {
                    found.append("\(ml) ml counts at \(at), drunk at \(sip.at)")
                }
            case .quarantined(let reason):
                guard sip.hasDate, let wall = entry.wall, case .once(let at) = Zone.utc.moments(of: wall) else {
                    continue
                }
                if abs(at.seconds(to: sip.at)) < Self.day {
                    found.append("\(ml) ml of \(sip.at) waits (\(reason)) though its date is right")
                }
            case .notADrink(let reason): found.append("\(ml) ml is no drink (\(reason))")
            }
        }
        return found
    }
}
