import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Support
import TrackerCore
import VirtualBottle

/// Bottle, faulty link, engine and faulty journal in one thread, on simulated time.
///
/// The link is the product's own: GATT server and client machines with every PDU through a `FaultyChannel`. Only the
/// clock, the order of events and the journal's disk belong to the simulation.
public struct World {
    /// A message to one of the machines; they take turns, in the order in which messages were sent.
    private enum Message {
        case central(CentralMachine.Input)
        case server(GATTServer.Input)
        case bottle(VirtualBottleMachine.Event)
        case engine(EngineEvent)
    }

    private enum Event {
        case toCentral(Int, [UInt8])
        case toPeripheral(Int, [UInt8])
        case act(Scenario.Act)
        case beginPoll(Int)
    }

    let scenario: Scenario
    let journal: MemoryJournal
    private(set) var bottle: VirtualBottleMachine
    /// What went wrong so far: broken promises, in words.
    public private(set) var violations: [String] = []
    /// Every record that the bottle ever wrote: its bytes, whether its clock showed a date, and when that really was.
    private(set) var written: [[UInt8]: (hasDate: Bool, at: Instant)] = [:]
    /// Records that the ring lost before anybody had acknowledged them.
    private(set) var overwritten: Set<[UInt8]> = []
    /// How often a record was sent and lost on the air.
    private var losses: [[UInt8]: Int] = [:]
    /// Records dropped unseen although sent again and again: lost on the air in each of as many readings as the gateway asks for.
    public private(set) var swallowedForGood: Set<[UInt8]> = []
    public private(set) var reports: [PollReport] = []
    private(set) var steps = 0

    private var now = MonotonicInstant(nanoseconds: 0)
    private var hostOffset: Int64 = 0
    private var queue: [(at: MonotonicInstant, event: Event)] = []
    private var inbox: [Message] = []
    private var isBusy = false
    private var server: GATTServer
    private var central = CentralMachine()
    private var channel = FaultyChannel(FaultPlan(), seed: 0)
    private var engine: GatewayEngine?
    private var poll: Scenario.Poll?
    private var effectsLeft: Int?
    private var pollDeadline = MonotonicInstant(nanoseconds: 0)
    private var connection = 0
    private var isConnected = false
    private var isAdvertised = true
    private var controls: UInt64 = 0
    private var quietPolls = 0
    /// Print everything that passes, for the replay of one seed.
    public var isTracing = false

    /// 2026-06-15T00:00:00Z.
    static let midnight = Instant(seconds: 1_781_481_600)

    public init(_ scenario: Scenario) throws {
        self.scenario = scenario
        let failing = scenario.failingWrites
        journal = MemoryJournal(failsAt: { failing.contains($0) })
        bottle = VirtualBottleMachine(
            scenario.identity, faults: scenario.habits, seed: scenario.seed, hostTime: Self.localTime(Self.midnight), at: now)
        server = try GATTServer(bottle.application)
        for (at, act) in scenario.acts { schedule(.act(act), at: now.advanced(by: at)) }
        for (index, poll) in scenario.polls.enumerated() { schedule(.beginPoll(index), at: now.advanced(by: poll.start)) }
    }

    /// True time: the bottle's clock has nothing to do with what the host's shows.
    private var truth: Instant { Instant(milliseconds: Self.midnight.milliseconds + now.nanoseconds / 1_000_000) }
    private var wall: Instant { Instant(milliseconds: truth.milliseconds + hostOffset) }
    /// What the kernel knows of the host's clock.
    private var mark: ClockMark {
        ClockMark(wall: wall, boot: 1, uptime: now.nanoseconds / 1_000_000, isSynchronized: scenario.hasTimeServer ? hostOffset == 0 : nil)
    }

    private static func localTime(_ instant: Instant) -> LocalTime {
        // 2000-01-01T00:00:00Z in seconds since 1970; the zone is UTC.
        LocalTime(milliseconds: instant.milliseconds - 946_684_800_000)
    }

    // MARK: - The run

    /// Runs the scenario, then polls without faults until the bottle is empty. The promises are checked on the way and at
    /// the end.
    public mutating func run() {
        while let next = queue.last {
            let deadline = nextDeadline
            if let deadline, deadline < next.at {
                now = max(now, deadline)
                tick()
            } else {
                queue.removeLast()
                now = max(now, next.at)
                perform(next.event)
            }
            steps += 1
            guard steps < 200_000 else { return fail("the run does not end") }
        }
        settle()
    }

    /// Lets everything come to rest, with polls in good weather in between.
    private mutating func settle() {
        restart(BottleFaults(), seed: scenario.seed)
        while true {
            if let next = queue.last, nextDeadline.map({ next.at <= $0 }) ?? true {
                queue.removeLast()
                now = max(now, next.at)
                perform(next.event)
            } else if let deadline = nextDeadline {
                now = max(now, deadline)
                tick()
            } else if quietPolls < 6, quietPolls < 1 || !bottle.flash.records.isEmpty || reports.last?.failure != nil {
                quietPolls += 1
                now = now.advanced(by: .seconds(60))
                begin(Scenario.Poll(start: .zero, link: FaultPlan(), killAfter: nil, beforeIt: false))
            } else {
                break
            }
            steps += 1
            guard steps < 400_000 else { return fail("the run does not come to rest") }
        }
        checkEnd()
    }

    private var nextDeadline: MonotonicInstant? {
        // Asked at each step: without an array it costs a tenth less of the whole run.
        var first = engine == nil ? nil : pollDeadline
        func take(_ deadline: MonotonicInstant?) {
            if let deadline { first = first.map { min($0, deadline) } ?? deadline }
        }
        take(engine?.nextDeadline)
        take(central.nextDeadline)
        take(server.nextDeadline)
        take(bottle.nextDeadline)
        take(channel.nextDeadline)
        return first
    }

    private mutating func tick() {
        if let due = channel.nextDeadline, due <= now { apply(channel.tick(at: now)) }
        if let due = server.nextDeadline, due <= now { post(.server(.tick)) }
        if let due = bottle.nextDeadline, due <= now { post(.bottle(.tick)) }
        if let due = central.nextDeadline, due <= now { post(.central(.tick)) }
        if let due = engine?.nextDeadline, due <= now { post(.engine(.tick)) }
        if engine != nil, pollDeadline <= now {
            fail("a poll was not over after 40 s")
            kill()
        }
    }

    private mutating func perform(_ event: Event) {
        switch event {
        case .toCentral(let number, let bytes):
            if isConnected, number == connection { post(.central(.received(bytes))) }
        case .toPeripheral(let number, let bytes):
            if isConnected, number == connection { post(.server(.received(peer, bytes))) }
        case .beginPoll(let index):
            begin(scenario.polls[index])
        case .act(let act):
            perform(act)
        }
    }

    private mutating func perform(_ act: Scenario.Act) {
        switch act {
        case .sip(let ml): control(.sip(ml: ml))
        case .powerLoss: control(.powerLoss)
        case .bottleClock(let seconds): control(.clock(LocalTime(milliseconds: Self.localTime(truth).milliseconds + Int64(seconds) * 1000).clock))
        case .hostClock(let seconds): hostOffset += Int64(seconds) * 1000
        case .restart:
            restart(scenario.habits, seed: scenario.seed &+ UInt64(steps))
        }
    }

    private mutating func restart(_ habits: BottleFaults, seed: UInt64) {
        disconnect(LinkError(.disconnected, "The bottle restarted.", isTransient: true))
        copiesGone += copies
        copies = 0
        bottle = VirtualBottleMachine(
            scenario.identity, flash: bottle.flash, faults: habits, seed: seed, hostTime: Self.localTime(truth), at: now)
        isAdvertised = true
    }

    private mutating func control(_ action: ControlAction) {
        controls += 1
        let before = bottle.flash
        let isRight = bottle.clockIsRight(at: now)
        post(.bottle(.control(action, id: controls)))
        guard case .sip = action, bottle.flash.nextNumber > before.nextNumber, let raw = bottle.flash.records.last?.bytes else { return }
        written[raw] = (isRight, truth)
        let left = Set(bottle.flash.records.map(\.number))
        for lost in before.records where !left.contains(lost.number) { overwritten.insert(lost.bytes) }
    }

    // MARK: - The gateway

    private mutating func begin(_ poll: Scenario.Poll) {
        guard engine == nil else { return }
        self.poll = poll
        effectsLeft = poll.killAfter
        goneBefore = gone
        channel = FaultyChannel(poll.link, seed: scenario.seed)
        var options = PollOptions(zone: .utc)
        options.limits.linger = .milliseconds(50)
        options.host = mark
        engine = GatewayEngine(options: options, linkName: "simulation", hasRadio: false)
        pollDeadline = now.advanced(by: .seconds(40))
        post(.engine(.start))
    }

    /// The gateway's process is gone: so is its end of the link.
    private mutating func kill() {
        engine = nil
        inbox.removeAll {
            switch $0 {
            case .central, .engine: true
            case .server, .bottle: false
            }
        }
        disconnect(nil)
        central = CentralMachine()
    }

    private mutating func tell(_ event: EngineEvent) {
        var events = [event][...]
        while let event = events.popFirst() {
            let (time, clock) = (now, wall)
            guard let effects = engine?.handle(event, at: time, wall: clock) else { return }
            for effect in effects {
                if let left = effectsLeft {
                    if left <= 1, poll?.beforeIt == true { return kill() }
                    effectsLeft = left - 1
                }
                switch effect {
                case .link(let request): post(.central(.request(request)))
                case .journal(let request):
                    let reply = journal.answer(request)
                    if isTracing { print(now.nanoseconds / 1_000_000, "journal", request, "->", reply) }
                    events.append(.journal(reply))
                case .askTodayTotal: events.append(.todayTotal(Fold.total(journal)))
                case .askLight: events.append(.light(nil))
                case .done(let report):
                    reports.append(report)
                    check(report)
                    engine = nil
                case .journaled, .report, .diagnostic, .progress, .lit: break
                }
                if effectsLeft == 0 { return kill() }
            }
        }
    }

    // MARK: - The link

    private var peer: CentralID { CentralID("\(connection)") }

    private mutating func apply(_ effects: [CentralMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .look:
                let seen: CentralMachine.Input =
                    isAdvertised
                    ? .found(Advertisement(peer: PeerID("bottle"))) : .notFound(LinkError(.notFound, "Nobody advertises.", isTransient: true))
                post(.central(seen))
            case .open:
                guard isAdvertised, !isConnected else {
                    post(.central(.openFailed(LinkError(.connectFailed, "Nobody answers.", isTransient: true))))
                    continue
                }
                connection += 1
                isConnected = true
                post(.server(.opened(peer)))
                post(.central(.opened))
            case .send(let bytes): if isConnected { apply(channel.pass(bytes, .toPeripheral, connection: connection, at: now)) }
            case .close: disconnect(nil)
            case .event(let event): post(.engine(.link(event)))
            case .log: break
            }
        }
    }

    private mutating func apply(_ effects: [GATTServer.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let id, let bytes):
                guard isConnected, id == peer else { continue }
                let effects = channel.pass(bytes, .toCentral, connection: connection, at: now)
                if effects.contains(where: { if case .log(let line) = $0 { line.contains("lose") } else { false } }) { noteLoss(bytes) }
                apply(effects)
            case .event(let event): post(.bottle(.link(event)))
            case .close(let id): if id == peer { disconnect(LinkError(.disconnected, "The bottle hung up.", isTransient: true)) }
            case .advertise(let isOn): isAdvertised = isOn
            case .log: break
            }
        }
    }

    private mutating func apply(_ effects: [FaultyChannel.Effect]) {
        for effect in effects {
            switch effect {
            case .deliver(let number, .toCentral, let bytes): schedule(.toCentral(number, bytes), at: now.advanced(by: scenario.latency))
            case .deliver(let number, .toPeripheral, let bytes): schedule(.toPeripheral(number, bytes), at: now.advanced(by: scenario.latency))
            case .disconnect: disconnect(LinkError(.disconnected, "The connection was lost.", isTransient: true))
            case .log: break
            }
        }
    }

    /// Ends the connection for both sides; `error` is what the central hears, `nil` when it hung up itself.
    private mutating func disconnect(_ error: LinkError?) {
        guard isConnected else { return }
        if error == nil {
            // A central's last words arrive, also when it has hung up behind them.
            let last = queue.reversed().compactMap { if case .toPeripheral(connection, let bytes) = $0.event { bytes } else { nil } }
            for bytes in last { post(.server(.received(peer, bytes))) }
        }
        isConnected = false
        channel.closed(connection: connection)
        post(.server(.closed(peer)))
        if let error { post(.central(.closed(error))) }
    }

    private mutating func apply(_ effects: [VirtualBottleMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .link(let request): post(.server(.request(request)))
            case .save(let flash): checkSaved(flash)
            case .reply, .log: break
            }
        }
    }

    private mutating func post(_ message: Message) {
        if isTracing { print(now.nanoseconds / 1_000_000, "connection", connection, message) }
        inbox.append(message)
        guard !isBusy else { return }
        isBusy = true
        while !inbox.isEmpty {
            switch inbox.removeFirst() {
            case .central(let input): apply(central.handle(input, at: now))
            case .server(let input): apply(server.handle(input, at: now))
            case .bottle(let event): apply(bottle.handle(event, at: now))
            case .engine(let event): tell(event)
            }
        }
        isBusy = false
    }

    private mutating func schedule(_ event: Event, at time: MonotonicInstant) {
        var low = 0
        var high = queue.count
        while low < high {
            let middle = (low + high) / 2
            if queue[middle].at > time { low = middle + 1 } else { high = middle }
        }
        queue.insert((time, event), at: low)
    }

    // MARK: - The promises

    private var flashBefore = BottleFlash()
    private var goneBefore = 0
    /// A bottle that shows again the last that it dropped (`resend`) keeps that in no flash: newer ones take the place of older ones, and a restart
    /// takes all. Whoever reads its log sees them, and now no more.
    private var copies = 0
    private var copiesGone = 0
    /// What the bottle showed once and does not show any more, each time that it ceased to.
    private var gone: Int { bottle.flash.dropped + bottle.flash.overwritten + copiesGone }

    /// The figures add up, and what the report calls acknowledged is gone from the bottle.
    private mutating func check(_ report: PollReport) {
        if let contradiction = report.contradiction { fail(contradiction) }
        let gone = gone - goneBefore
        // A bottle that denies its log, or an answer that was lost with all of it, cannot be told from an empty one; and a dump whose end has
        // overtaken its records not from one that lacks them.
        let isInOrder = !scenario.habits.shuffle && poll?.link.faults.contains { $0.kind == .swap } != true
        let isBelievable = scenario.habits.lie == 0 && losses.isEmpty && isInOrder
        if isBelievable, report.acknowledged > gone { fail("\(report.acknowledged) acknowledged, and the bottle dropped \(gone)") }
    }

    /// Whole records in a notification that never arrives.
    private mutating func noteLoss(_ pdu: [UInt8]) {
        let value = Array(pdu.dropFirst(3))
        let entries = value.starts(with: [0x50, 0x54]) ? Array(value.dropFirst(4)) : value
        guard let found = try? Entry.sequence(decoding: entries) else {
            losses[[], default: 0] += 1
            return
        }
        for entry in found where entry.type == .log {
            for start in stride(from: 0, through: entry.data.count - DrinkRecord.size, by: DrinkRecord.size) {
                losses[Array(entry.data[start..<(start + DrinkRecord.size)]), default: 0] += 1
            }
        }
    }

    /// In as many readings as the gateway asks for before it acknowledges; in draft packets one lost notification leaves no trace.
    private func isSwallowed(_ raw: [UInt8]) -> Bool { losses[raw, default: 0] >= (scenario.identity.profile == .draft ? 3 : 2) }

    /// Whatever the bottle has just dropped because it was told to is in the journal already (promise 1).
    private mutating func checkSaved(_ flash: BottleFlash) {
        defer { flashBefore = flash }
        guard flash.dropped > flashBefore.dropped else { return }
        let left = Set(flash.records.map(\.number))
        copies += flash.dropped - flashBefore.dropped
        copiesGone += max(0, copies - scenario.habits.resend)
        copies = min(copies, scenario.habits.resend)
        for record in flashBefore.records where !left.contains(record.number) {
            guard !journal.holds(record.bytes) else { continue }
            if isSwallowed(record.bytes) { swallowedForGood.insert(record.bytes) } else { fail("acknowledged before it was journaled: \(hex(record.bytes))") }
        }
    }

    private mutating func checkEnd() {
        let kept = written.keys.filter { !overwritten.contains($0) && !swallowedForGood.contains($0) }
        var times: [[UInt8]: Int] = [:]
        var doubted: Set<[UInt8]> = []
        // Cut by the bottle, or by a connection too narrow for them.
        let isPieced = scenario.habits.split > 0 || scenario.polls.contains { $0.link.mtu != nil }
        for entry in journal.entries {
            times[entry.raw, default: 0] += 1
            // Told as what it may be, pieces of two records, and counted nowhere.
            if entry.verdict == .quarantined(reason: JournalDoubt.pieced) { doubted.insert(entry.raw) }
            // Where the same values were lost of two readings, the same pieces came twice; without a possible date they count nowhere either.
            // So do those that say of themselves that they are no drinks.
            guard isPieced, written[entry.raw] == nil else { continue }
            if case .drink = entry.verdict { continue }
            doubted.insert(entry.raw)
        }
        for raw in doubted where written[raw] != nil && !overwritten.contains(raw) { fail("still in doubt after six polls in good weather: \(hex(raw))") }
        for raw in kept where times[raw] != 1 { fail("in the journal \(times[raw] ?? 0) times instead of once: \(hex(raw))") }
        for (raw, count) in times {
            if written[raw] == nil, !doubted.contains(raw) { fail("invented: \(hex(raw))") }
            if count > 1 { fail("in the journal \(count) times: \(hex(raw))") }
        }
        if scenario.isHostDaysOff { checkDays(times, doubted) } else { checkFold(times, doubted) }
        if scenario.habits.resend == 0, scenario.habits.forget == 0, !bottle.flash.records.isEmpty {
            fail("\(bottle.flash.records.count) records are still in the bottle after six polls in good weather")
        }
        if let last = reports.last, last.failure != nil { fail("the last poll, in good weather, failed: \(last.failure?.description ?? "")") }
    }

    /// Whatever the host's clock showed for a while: in the end each sip counts on its true day, or is told as doubtful with what is known.
    private mutating func checkDays(_ times: [[UInt8]: Int], _ doubted: Set<[UInt8]>) {
        for entry in journal.entries where !doubted.contains(entry.raw) {
            guard let sip = written[entry.raw] else { continue }
            let own = (try? DrinkRecord(decoding: entry.raw)).flatMap(Self.instant)
            switch entry.verdict {
            case .drink(let at, _):
                if abs(at.seconds(to: sip.at)) > RecordResolver.aheadSeconds { fail("counts at \(at), drunk at \(sip.at): \(hex(entry.raw))") }
            case .quarantined(let reason):
                if sip.hasDate, let own, abs(own.seconds(to: sip.at)) < RecordResolver.aheadSeconds { fail("waits (\(reason)) though its date is right: \(hex(entry.raw))") }
            case .notADrink:
                break
            }
        }
    }

    /// The truth as the bottle knows it: what it wrote with its clock right, by day, against the fold over the journal.
    private mutating func checkFold(_ times: [[UInt8]: Int], _ doubted: Set<[UInt8]>) {
        var truth: [LocalDay: Int] = [:]
        let calendar = DayCalendar(zone: .utc)
        // A record that came once, in pieces, and that the ring lost before it could come again, is told as doubtful: nobody can prove it any more.
        for (raw, sip) in written where sip.hasDate && times[raw] != nil && !(doubted.contains(raw) && overwritten.contains(raw)) {
            guard let record = try? DrinkRecord(decoding: raw), let instant = Self.instant(record) else { continue }
            truth[calendar.day(of: instant), default: 0] += record.amountMl
        }
        let fold = Fold.days(journal, calendar)
        if truth.filter({ $0.value > 0 }) != fold { fail("totals \(fold) are not the fold over what was drunk, \(truth)") }
    }

    private static func instant(_ record: DrinkRecord) -> Instant? {
        let clock = BottleClock(
            yearByte: UInt8(record.yearByte), month: UInt8(record.month), day: UInt8(record.day), hour: UInt8(record.hour),
            minute: UInt8(record.minute), second: UInt8(record.second))
        return LocalTime(clock).map { Instant(milliseconds: $0.milliseconds + 946_684_800_000) }
    }

    private mutating func fail(_ sentence: String) {
        if violations.count < 5 { violations.append(sentence) }
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}

extension VirtualBottleMachine {
    /// The clock shows a date at all.
    func clockIsRight(at now: MonotonicInstant) -> Bool { status(at: now).clock.isPossible }
}

/// Totals as a fold over the journal (promise 3).
enum Fold {
    static func total(_ journal: MemoryJournal) -> Int {
        journal.entries.reduce(0) { sum, entry in if case .drink = entry.verdict { sum + entry.amountMl } else { sum } }
    }

    static func days(_ journal: MemoryJournal, _ calendar: DayCalendar) -> [LocalDay: Int] {
        var days: [LocalDay: Int] = [:]
        for entry in journal.entries {
            if case .drink(let instant, _) = entry.verdict { days[calendar.day(of: instant), default: 0] += entry.amountMl }
        }
        return days
    }
}
