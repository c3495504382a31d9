import BottleProtocol
import Bluetooth

// Commands and their responses (protocol spec P2).
extension VirtualBottleMachine {
    private static let registrationLimit = Duration.seconds(30)
    private static let calibration = Duration.seconds(1)
    static let firmware: UInt16 = 0x0103

    mutating func command(_ bytes: [UInt8], at now: MonotonicInstant) {
        let command = HostCommand(decoding: bytes)
        if plan[.early] > 0, let session,
            now < (session.subscribedAt ?? session.since).advanced(by: .milliseconds(plan[.early]))
        {
            return log("ignored, too early after the subscription: \(command.meaning)")
        }
        guard !injector.chance(plan[.ignore]) else { return log("ignored, fault 'ignore': \(command.meaning)") }
        log(command.meaning)
        if recordedResponses.isStrict, !recordedResponses.contains(bytes), let central = session?.central {
            log("disconnecting \(central): its request is not in the capture")
            emit(.unrecorded(recordedResponses.mismatch(bytes, command)))
            return emit(.link(.disconnect(central)))
        }
        if recordedResponses.isPreferred || !supports(command) {
            if let exchange = recordedResponses.next(to: bytes) {
                if case .acknowledge(let bytes) = command { acknowledge(Int(bytes)) }
                return send(exchange, at: now)
            }
            if recordedResponses.isPreferred { log("no recorded response, the emulated model responds") }
        }
        switch command {
        case .snapshot: respond(snapshot(at: now).frame(identity.model), at: now)
        case .drinkLog: dumpRetail(at: now)
        case .draftDump where session?.profile == .draft: dumpDraft(at: now)
        case .draftDump(let byte) where Self.retailDumps.contains(byte): dumpRetail(at: now)
        case .draftDump: log("ignored: a retail bottle does not support this command")
        case .acknowledge(let bytes): acknowledge(Int(bytes))
        case .get(let type): get(type, at: now)
        case .unknown: break
        default: put(command, at: now)
        }
    }

    /// Whether the model supports a command. Some supported commands have no response.
    private func supports(_ command: HostCommand) -> Bool {
        switch command {
        case .unknown: false
        case .draftDump(let byte): session?.profile == .draft || Self.retailDumps.contains(byte)
        case .get(let type): Self.readableTypes.contains(type)
        case .put(let entries): !entries.isEmpty && entries.allSatisfy { Self.writableTypes.contains($0.type) }
        default: true
        }
    }

    /// The one-byte commands with which early clients request the log of retail bottles.
    private static let retailDumps: Set<UInt8> = [0x03, 0x04]
    private static let readableTypes: Set<EntryType> = [
        .battery, .clock, .amount, .goal, .charging, .language, .reminder, .level, .temperature, .tds,
    ]
    private static let writableTypes: Set<EntryType> = [
        .goal, .amount, .reminder, .clock, .light, .language, .registration, .recalibrateFull, .recalibrateEmpty,
        .flash, .factoryMode,
    ]

    private mutating func respond(_ frame: Frame, at now: MonotonicInstant) {
        send(injector.applyFaults(response: frame.encoded), at: now)
    }

    /// Sends a recorded response.
    private mutating func send(_ exchange: RecordedExchange, at now: MonotonicInstant) {
        log("responding as recorded in frame \(exchange.frame)")
        if recordedResponses.isPreferred {
            if exchange.command.requestsLog { session?.unacknowledged = Array(Set(exchange.records)) }
            session?.readable = []
            // Send the rest of the previous response first, because this host sends requests faster than the recorded
            // one.
            for index in session?.outbox.indices ?? 0..<0 { session?.outbox[index].notBefore = now }
        }
        // A central that reads before a value is due would receive the end of the log.
        let keepsDelays = session?.isSubscribed == true
        let values = exchange.values.map { bytes, delay in
            OutgoingValue(value: bytes, kind: .response, delay: keepsDelays ? recordedResponses.delay(delay) : .zero)
        }
        send(values, at: now)
    }

    // MARK: Log

    private mutating func dumpRetail(at now: MonotonicInstant) {
        let records = beginDump()
        let hasRecords = !records.isEmpty
        let reportsRecords = injector.chance(plan[.lie]) ? !hasRecords : hasRecords
        respond((reportsRecords ? BottleMessage.logFollows : .logEmpty).frame, at: now)
        guard hasRecords, reportsRecords else { return }
        sendLog(
            session?.isSubscribed == true
                ? DrinkLogPackets.retail(records, perFrame: plan[.frame]) : DrinkLogPackets.read(records), at: now)
    }

    private mutating func dumpDraft(at now: MonotonicInstant) {
        let records = beginDump()
        sendLog(session?.isSubscribed == true ? DrinkLogPackets.draft(records) : DrinkLogPackets.read(records), at: now)
    }

    /// Sends state and log to a client without a request (fault `unasked`).
    mutating func sendState(at now: MonotonicInstant) {
        respond(snapshot(at: now).frame(identity.model), at: now)
        let records = beginDump(clearing: false)
        if !records.isEmpty {
            sendLog(
                session?.profile == .draft
                    ? DrinkLogPackets.draft(records) : DrinkLogPackets.retail(records, perFrame: plan[.frame]), at: now)
        }
    }

    /// Starts a new transfer of the log, and drops the unsent values of the last one.
    private mutating func beginDump(clearing: Bool = true) -> [BottleFlash.StoredRecord] {
        session?.unacknowledged = []
        if clearing { session?.outbox.removeAll { $0.outgoing.kind != .report } }
        session?.readable = []
        session?.isEndless = false
        let records = Array(acknowledged.suffix(plan[.resend])) + flash.records
        guard session?.profile == .draft, identity.dialect == nil else { return records }
        // The app of the draft profile accepts only 1A in byte 0.
        return records.map {
            BottleFlash.StoredRecord(number: $0.number, raw: [DrinkRecord.strictTypeByte] + $0.bytes.dropFirst())
        }
    }

    private mutating func sendLog(_ values: [OutgoingValue], at now: MonotonicInstant) {
        let largest = values.map(\.value.count).max() ?? 0
        if let mtu = session?.mtu, largest > mtu - 3, session?.isSubscribed == true, plan[.split] == 0 {
            log("the ATT MTU is \(mtu): notifications of \(largest) bytes are truncated to \(mtu - 3)")
        }
        let report = Frame(.report, [Entry(.level, flash.levelMl)]).encoded
        send(injector.applyFaults(log: values, report: report), at: now)
        if plan[.endless] != 0 { session?.isEndless = true }
        let recordCount = values.reduce(0) { $0 + $1.records.count }
        log(recordCount == 1 ? "sending 1 record" : "sending \(recordCount) records")
    }

    /// Deletes the acknowledged records, which are the oldest sent ones. With the fault `counts`, it deletes the oldest
    /// records of the log instead.
    private mutating func acknowledge(_ bytes: Int) {
        let (count, rest) = bytes.quotientAndRemainder(dividingBy: DrinkRecord.size)
        guard rest == 0 else {
            return log("ignored: an acknowledgement of \(bytes) bytes is not a number of whole records")
        }
        guard !injector.chance(plan[.forget]) else { return log("acknowledgement ignored, fault 'forget'") }
        // A central that reads receives the newest records first, but the oldest are deleted first.
        let oldest =
            plan[.counts] != 0
            ? (acknowledged.suffix(plan[.resend]) + flash.records).map(\.number)
            : (session?.unacknowledged ?? []).sorted()
        let numbers = Set(oldest.prefix(count))
        session?.unacknowledged.removeAll(where: numbers.contains)
        let records = flash.records.filter { numbers.contains($0.number) }
        if plan[.resend] > 0 { acknowledged = (acknowledged + records).suffix(plan[.resend]) }
        if !records.isEmpty { change { $0.drop(numbers) } }
        log("\(records.count) of \(count) record\(count == 1 ? "" : "s") deleted, \(flash.records.count) left")
    }

    // MARK: Queries

    func snapshot(at now: MonotonicInstant) -> Snapshot {
        var snapshot = Snapshot()
        snapshot.model = identity.model
        snapshot.batteryPercent = Int(flash.batteryPercent)
        snapshot.charging = ChargingState(rawValue: flash.charging)
        snapshot.clock = clock.reading(at: now)
        snapshot.goalMl = Int(flash.goalMl)
        snapshot.amountMl = Int(amount(at: now))
        snapshot.firmware = Self.firmware
        snapshot.reminder = ReminderSetting(flash.reminder)
        snapshot.language = flash.language
        snapshot.temperatureC = Int(flash.temperatureC)
        snapshot.tdsPpm = Int(flash.tdsPpm)
        snapshot.levelMl = Int(flash.levelMl)
        return snapshot
    }

    /// Today's amount in millilitres. It is zero again when a new day of the bottle's clock starts.
    func amount(at now: MonotonicInstant) -> UInt16 {
        clock.time(at: now).day == flash.amountDay ? flash.amountMl : 0
    }

    /// Responds with the entry of that type, as in the snapshots of all models.
    private mutating func get(_ type: EntryType, at now: MonotonicInstant) {
        guard Self.readableTypes.contains(type), identity.model.measuresWater || ![.temperature, .tds].contains(type)
        else { return }
        let snapshot = snapshot(at: now)
        let entries = BottleModel.allCases.compactMap { try? snapshot.frame($0).entries() }.joined()
        if let entry = entries.first(where: { $0.type == type }) { respond(Frame(.response, [entry]), at: now) }
    }

    // MARK: Settings and actions

    /// Handles each entry of a PUT command. The responses are in one frame.
    private mutating func put(_ command: HostCommand, at now: MonotonicInstant) {
        guard let entries = try? Frame(decoding: command.encoded).entries() else { return }
        let responses = entries.compactMap { put($0, at: now) }
        blinks += entries.isEmpty ? 0 : 1
        if !responses.isEmpty { respond(Frame(.response, responses), at: now) }
    }

    private mutating func put(_ entry: Entry, at now: MonotonicInstant) -> Entry? {
        switch entry.type {
        case .goal:
            guard let goal = entry.number else { return nil }
            change { $0.goalMl = goal }
            return entry
        case .amount:
            guard let amount = entry.number else { return nil }
            let day = clock.time(at: now).day
            change { ($0.amountMl, $0.amountDay) = (amount, day) }
            return nil
        case .reminder:
            guard ReminderSetting(entry.data) != nil else { return nil }
            change { $0.reminder = entry.data }
            return entry
        case .clock: return Entry(.clock, [setClock(entry.data, at: now) ? 0 : 1])
        case .light:
            guard ReminderLight(entry.data) != nil else { return nil }
            change { $0.light = entry.data }
            return nil
        case .language:
            guard let language = entry.byte else { return nil }
            change { $0.language = language }
            return nil
        case .registration: return register(entry, at: now)
        case .recalibrateFull, .recalibrateEmpty:
            change { $0.levelMl = entry.type == .recalibrateFull ? BottleFlash.fullMl : 0 }
            scheduled.append((now.advanced(by: Self.calibration), Frame(.report, [Entry(entry.type, [1])])))
            return nil
        case .screenText: return Entry(.screenText, [0])
        // Flashing the light and leaving factory mode cause no response.
        default: return nil
        }
    }

    /// Sets the clock. Returns `false` without a change if the six bytes are not a date.
    mutating func setClock(_ bytes: [UInt8], at now: MonotonicInstant) -> Bool {
        guard let time = BottleClock(bytes).flatMap(LocalTime.init) else { return false }
        clock.set(time, at: now)
        change { _ in }
        return true
    }

    private mutating func register(_ entry: Entry, at now: MonotonicInstant) -> Entry? {
        switch entry.byte.map(RegistrationCode.init(rawValue:)) {
        case .register:
            registrationDeadline = now.advanced(by: Self.registrationLimit)
            return Entry(.registration, [RegistrationCode.pressButton.rawValue])
        case .clear:
            change { $0.clear() }
            session?.unacknowledged = []
            session?.outbox.removeAll { $0.outgoing.kind == .log }
            session?.readable = []
            return Entry(.registration, [RegistrationCode.cleared.rawValue])
        default: return nil
        }
    }
}
