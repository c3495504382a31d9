import Bluetooth
import BottleProtocol
import Emulator
package import Gateway
import GatewaySupport
import TrackerCore

/// Bottle, faulty link, poll and a journal whose disk is full at times, in one thread and in simulated time.
///
/// The link consists of the product's GATT server and client machines, with every PDU through a `FaultyChannel`. The
/// simulation supplies only the clock, the order of events and the journal's disk.
package struct World {
    /// A message to one of the machines, delivered in the order of sending.
    enum Message {
        case central(CentralMachine.Input)
        case server(GATTServer.Input)
        case bottle(PeripheralMachineEvent)
        case engine(PollEvent)
    }

    enum Event {
        case toCentral(Int, [UInt8])
        case toPeripheral(Int, [UInt8])
        case action(ScenarioStep.Action)
        /// The end of the bottle's absence with this number; ignored after a later one.
        case bottleReachable(Int)
    }

    let scenario: Scenario
    /// The gateway's journal and its disk.
    let journal: any ScenarioJournal
    let disk: DiskJournal
    /// Journals of other centrals, by name.
    var otherJournals: [String: any ScenarioJournal] = [:]
    private let makeJournal: () throws -> any ScenarioJournal
    private(set) var bottle: VirtualBottleMachine
    private var faults: BottleFaults
    package var violations: [InvariantViolation] = []
    /// Every record that the bottle wrote: its bytes, whether its clock had a date, and the true time.
    var written: [[UInt8]: (hasDate: Bool, at: Instant)] = [:]
    /// Records overwritten before an acknowledgement.
    var overwritten: Set<[UInt8]> = []
    /// Records that another central acknowledged.
    var acknowledgedElsewhere: Set<[UInt8]> = []
    /// The number of times that a record was lost on the air.
    var losses: [[UInt8]: Int] = [:]
    /// Records dropped unread: lost on the air in each of as many readings as the gateway requires.
    package var undetectablyLost: Set<[UInt8]> = []
    package private(set) var reports: [PollReport] = []
    /// Reported kinds of failures and codes of warnings.
    var reported: Set<String> = []
    private(set) var steps = 0

    var now = MonotonicInstant(nanoseconds: 0)
    private var hostOffset = Duration.zero
    private var zone: Zone
    private var asleepUntil: MonotonicInstant?
    private var outages = 0
    private var isUnreachable = false
    private var queue: [(at: MonotonicInstant, event: Event)] = []
    private var inbox: [Message] = []
    private var isBusy = false
    private var server: GATTServer
    private var central = CentralMachine()
    var channel = FaultyChannel(FaultPlan(), seed: 0)
    private var engine: Poll?
    var poll: ScenarioStep.Poll?
    private var effectsLeft: Int?
    private var pollDeadline = MonotonicInstant(nanoseconds: 0)
    var connection = 0
    var isConnected = false
    var isAdvertised = true
    private var faultFreePolls = 0
    /// Whether all events are over: the gateway polls without faults, and the user confirms the host's clock.
    private var isSettling = false
    private let stepLimit: Int
    var flashBefore = BottleFlash()
    private var removedBefore = 0
    /// The number of repeated records that the bottle sends (`resend`). They are not in the flash: newer records
    /// replace older ones, and a restart removes all.
    var copies = 0
    var copiesRemoved = 0
    /// Receives every event, for the replay of one seed.
    package var trace: ((String) -> Void)?

    /// Receives a line for each step, poll and broken invariant.
    package var onEvent: ((String) -> Void)?

    /// - Parameter makeJournal: returns an empty journal; called once for the gateway and once for each other central.
    package init(_ scenario: Scenario, makeJournal: @escaping () throws -> any ScenarioJournal) throws {
        self.scenario = scenario
        self.makeJournal = makeJournal
        journal = try makeJournal()
        disk = DiskJournal(journal, failing: scenario.failingWrites)
        (zone, faults) = (scenario.zone, scenario.faults)
        stepLimit = 200_000 + 2_000 * scenario.steps.count
        bottle = VirtualBottleMachine(
            scenario.bottle, faults: scenario.faults, seed: scenario.seed,
            hostTime: Self.localTime(scenario.start, scenario.zone), at: now)
        server = try GATTServer(bottle.application)
        for step in scenario.steps { schedule(.action(step.action), at: now.advanced(by: step.at)) }
    }

    /// The true time, independent of the clocks of bottle and host.
    var trueTime: Instant { Instant(milliseconds: scenario.start.milliseconds + now.nanoseconds / 1_000_000) }
    var wall: Instant { Instant(milliseconds: trueTime.milliseconds + hostOffset.microseconds / 1000) }

    private static func localTime(_ instant: Instant, _ zone: Zone) -> LocalTime {
        // 2000-01-01T00:00:00Z in seconds since 1970.
        LocalTime(milliseconds: instant.milliseconds + Int64(zone.offsetSeconds(at: instant)) * 1000 - 946_684_800_000)
    }

    /// The correct time for the bottle's clock, in the zone at the start of the day: travel does not set it.
    private var bottleTime: LocalTime { Self.localTime(trueTime, scenario.zone) }

    // MARK: - The run

    /// Runs the scenario, then polls without faults until the bottle is empty. Checks the invariants throughout and at
    /// the end.
    package mutating func run() {
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
            guard steps < stepLimit else { return fail(.endless, "the run does not end") }
        }
        settle()
    }

    /// Processes all pending events, with polls without faults in between.
    private mutating func settle() {
        note("No faults from now on: the gateway polls until the bottle is empty.")
        disk.setFull(false)
        isUnreachable = false
        isSettling = true
        restart(BottleFaults(), seed: scenario.seed)
        while true {
            if let next = queue.last, nextDeadline.map({ next.at <= $0 }) ?? true {
                queue.removeLast()
                now = max(now, next.at)
                perform(next.event)
            } else if let deadline = nextDeadline {
                now = max(now, deadline)
                tick()
            } else if faultFreePolls < 6,
                faultFreePolls < 1 || !bottle.flash.records.isEmpty || reports.last?.failure != nil
            {
                faultFreePolls += 1
                now = now.advanced(by: .seconds(60))
                begin(ScenarioStep.Poll())
            } else {
                break
            }
            steps += 1
            guard steps < 2 * stepLimit else { return fail(.endless, "the run does not end after its last event") }
        }
        checkEnd()
    }

    private var nextDeadline: MonotonicInstant? {
        // Evaluated at each step: an array here would cost a tenth of the run.
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
            fail(.slowPoll, "a poll was not over after 130 s")
            kill()
        }
    }

    private mutating func perform(_ event: Event) {
        switch event {
        case .toCentral(let number, let bytes):
            if isConnected, number == connection { post(.central(.received(bytes))) }
        case .toPeripheral(let number, let bytes):
            if isConnected, number == connection { post(.server(.received(peer, bytes))) }
        case .bottleReachable(let number):
            if number == outages { isUnreachable = false }
        case .action(let action):
            perform(action)
        }
    }

    private mutating func perform(_ action: ScenarioStep.Action) {
        if case .poll(let poll) = action {
            if let waking = asleepUntil, waking > now, poll.otherCentral == nil {
                return schedule(.action(action), at: waking)
            }
            return begin(poll)
        }
        note("\(action)")
        switch action {
        case .sip(let ml): control(.sip(ml: ml))
        case .powerLoss: control(.powerLoss)
        case .bottleClock(let by):
            control(.clock(LocalTime(milliseconds: bottleTime.milliseconds + by.microseconds / 1000).clock))
        case .hostClock(let by): hostOffset += by
        case .restart: restart(faults, seed: scenario.seed &+ UInt64(steps))
        case .faults(let newFaults):
            faults = newFaults
            restart(faults, seed: scenario.seed &+ UInt64(steps))
        case .disconnect: disconnect(LinkError(.disconnected, "The connection was lost.", isTransient: true))
        case .outOfRange(let span):
            (isUnreachable, outages) = (true, outages + 1)
            disconnect(LinkError(.disconnected, "The bottle is out of reach.", isTransient: true))
            schedule(.bottleReachable(outages), at: now.advanced(by: span))
        case .kill: kill()
        case .sleep(let span):
            disconnect(LinkError(.disconnected, "The host went to sleep.", isTransient: true))
            asleepUntil = now.advanced(by: span)
        case .disk(let isFull): disk.setFull(isFull)
        case .zone(let id): if let zone = try? Zone(id) { self.zone = zone }
        case .poll: break
        }
    }

    private mutating func restart(_ faults: BottleFaults, seed: UInt64) {
        disconnect(LinkError(.disconnected, "The bottle restarted.", isTransient: true))
        copiesRemoved += copies
        copies = 0
        bottle = VirtualBottleMachine(
            scenario.bottle, flash: bottle.flash, faults: faults, seed: seed, hostTime: bottleTime, at: now)
        isAdvertised = true
    }

    private mutating func control(_ action: ControlAction) {
        let before = bottle.flash
        let hasDate = bottle.status(at: now).clock.isPossible
        post(.bottle(.control(action)))
        guard case .sip = action, bottle.flash.nextNumber > before.nextNumber,
            let raw = bottle.flash.records.last?.bytes
        else { return }
        written[raw] = (hasDate, trueTime)
        let left = Set(bottle.flash.records.map(\.number))
        for lost in before.records where !left.contains(lost.number) { overwritten.insert(lost.bytes) }
    }

    private func note(_ line: @autoclosure () -> String) {
        onEvent?("\(Duration.nanoseconds(now.nanoseconds)) \(line())")
    }

    // MARK: - The gateway

    /// The number of records that the bottle no longer sends.
    private var removed: Int { bottle.flash.dropped + bottle.flash.overwritten + copiesRemoved }

    private mutating func begin(_ poll: ScenarioStep.Poll) {
        guard engine == nil else {
            return note(
                "\(poll.otherCentral ?? "The gateway") cannot poll: the bottle is connected to another central.")
        }
        if let name = poll.otherCentral, otherJournals[name] == nil { otherJournals[name] = try? makeJournal() }
        self.poll = poll
        effectsLeft = poll.killAfter
        removedBefore = removed
        channel = FaultyChannel(poll.link, seed: scenario.seed)
        var options = PollOptions(zone: zone)
        options.limits.nextFrame = .milliseconds(50)
        options.isAcknowledgementDisabled = poll.keepsRecords
        // If the last poll asked the user to check the clock, the user confirms it, because it is correct by now.
        let isConfirmed = isSettling && reports.last?.failure?.kind == .clockNotTrusted
        options.isClockSynchronised = isConfirmed || scenario.hasTimeServer && hostOffset == .zero
        engine = Poll(options: options, linkName: "simulation", hasRadio: false)
        pollDeadline = now.advanced(by: .seconds(130))
        post(.engine(.start))
    }

    /// Ends the gateway's process and its end of the link.
    private mutating func kill() {
        if engine != nil { note("The polling process was killed.") }
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

    var pollingJournal: any ScenarioJournal { poll?.otherCentral.flatMap { otherJournals[$0] } ?? journal }

    private mutating func handle(_ event: PollEvent) {
        let (time, clock, zone, journalOfPoll) = (now, wall, zone, pollingJournal)
        let journal: any Journal = poll?.otherCentral == nil ? disk : journalOfPoll
        // The total of the day by the clock of the polling central.
        engine?.display.todayTotal = {
            let calendar = DayCalendar(zone: zone)
            return journalOfPoll.total(on: calendar.day(of: clock), in: calendar)
        }
        guard let effects = engine?.handle(event, at: time, wall: clock, journal: journal) else { return }
        for effect in effects {
            if let left = effectsLeft {
                if left <= 1, poll?.killsBeforeEffect == true { return kill() }
                effectsLeft = left - 1
            }
            switch effect {
            case .link(let request): post(.central(.request(request)))
            case .done(let report): end(report)
            case .diagnostic(let diagnostic):
                if diagnostic.severity == .warning, let code = diagnostic.code { reported.insert(code) }
            case .journaled, .bottleReported, .progress, .lightWritten: break
            }
            if effectsLeft == 0 { return kill() }
        }
    }

    private mutating func end(_ report: PollReport) {
        engine = nil
        note(report.line(by: poll?.otherCentral ?? "The gateway"))
        if poll?.otherCentral == nil {
            reports.append(report)
            if let kind = report.failure?.kind { reported.insert(kind.rawValue) }
        }
        check(report, removed: removed - removedBefore)
    }

    // MARK: - Between the machines

    mutating func apply(_ effects: [CentralMachine.Effect]) {
        let isReachable = isAdvertised && !isUnreachable
        for effect in effects {
            switch effect {
            case .scan:
                let seen: CentralMachine.Input =
                    isReachable
                    ? .found(Advertisement(peer: PeerID("bottle")))
                    : .notFound(LinkError(.notFound, "No bottle advertises.", isTransient: true))
                post(.central(seen))
            case .open:
                guard isReachable, !isConnected else {
                    post(
                        .central(
                            .openFailed(LinkError(.connectFailed, "The bottle does not answer.", isTransient: true))))
                    continue
                }
                connection += 1
                isConnected = true
                post(.server(.opened(peer)))
                post(.central(.opened))
            case .send(let bytes):
                if isConnected { apply(channel.transmit(bytes, .toPeripheral, connection: connection, at: now)) }
            case .close: disconnect(nil)
            case .event(let event): post(.engine(.link(event)))
            case .log: break
            }
        }
    }

    /// Ends the connection for both sides. The central receives `error`; `nil` when it disconnected itself.
    mutating func disconnect(_ error: LinkError?) {
        guard isConnected else { return }
        if error == nil {
            // PDUs that a central sent before it disconnected still arrive.
            let last = queue.reversed().compactMap {
                if case .toPeripheral(connection, let bytes) = $0.event { bytes } else { nil }
            }
            for bytes in last { post(.server(.received(peer, bytes))) }
        }
        isConnected = false
        channel.closed(connection: connection)
        post(.server(.closed(peer)))
        if let error { post(.central(.closed(error))) }
    }

    mutating func post(_ message: Message) {
        trace?("\(now.nanoseconds / 1_000_000) connection \(connection) \(message)")
        inbox.append(message)
        guard !isBusy else { return }
        isBusy = true
        while !inbox.isEmpty {
            switch inbox.removeFirst() {
            case .central(let input): apply(central.handle(input, at: now))
            case .server(let input): apply(server.handle(input, at: now))
            case .bottle(let event): apply(bottle.handle(event, at: now))
            case .engine(let event): handle(event)
            }
        }
        isBusy = false
    }

    mutating func schedule(_ event: Event, at time: MonotonicInstant) {
        var low = 0
        var high = queue.count
        while low < high {
            let middle = (low + high) / 2
            if queue[middle].at > time { low = middle + 1 } else { high = middle }
        }
        queue.insert((time, event), at: low)
    }

    mutating func fail(_ code: InvariantViolation.Code, _ sentence: String) {
        guard violations.count < 5 else { return }
        violations.append(InvariantViolation(code: code, sentence: sentence))
        note("BROKEN: \(sentence)")
    }
}

extension PollReport {
    /// The result of a poll as a line for `onEvent`.
    fileprivate func line(by central: String) -> String {
        let counts = received == 0 ? "nothing new" : "\(received) received, \(new) new, \(acknowledged) acknowledged"
        let remarks =
            (suspect > 0 ? ", \(suspect) quarantined" : "") + (resolved > 0 ? ", \(resolved) dated at last" : "")
            + (unconfirmed > 0 ? ", \(unconfirmed) perhaps acknowledged" : "")
            + (undecodable > 0 ? ", \(undecodable) pieces unreadable" : "")
        return "\(central) polled: \(counts)\(remarks)" + (failure.map { "; \($0.kind.text): \($0.sentence)" } ?? ".")
    }
}
