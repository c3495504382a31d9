import Bluetooth
import BottleProtocol
import CommandSupport
import Emulator

/// Runs the parts of a hardware session in order. `record` has all data recorded so far.
actor BenchDaySession {
    private(set) var record: BenchDayRecord
    private let setup: Setup
    private var peer: PeerID?
    /// The records in the store.
    private var stored: Set<[UInt8]> = []
    /// Whether the bottle's clock is set to next year and must be set back.
    private var isClockAhead = false

    struct Setup: Sendable {
        let hasRadio: Bool
        let folder: BenchDayFolder
        /// See `BenchDayUser`.
        let answer: @Sendable (BenchDayPrompt) async -> Int?
        /// Stores the bottle's log and returns its records.
        let store: @Sendable () async throws -> Set<[UInt8]>
        let isWanted: @Sendable (Advertisement) -> Bool
        /// Returns the local time.
        let wall: @Sendable () -> BottleClock
        /// The factor of waiting times; 1 with a real bottle.
        let pace: Double
    }

    /// Ends a part with a reason.
    private struct Skip: Error { let reason: String }

    private static let firstAttempts = 3

    init(_ setup: Setup) { (self.setup, record) = (setup, BenchDayRecord(hasRadio: setup.hasRadio)) }

    /// - Throws: `LinkError` without a bottle, `CancellationError`, and errors of recording and storing.
    func run() async throws {
        for part in BenchDayPart.all {
            var isAllowed = true
            if let prompt = part.prompt { isAllowed = await setup.answer(prompt) != nil }
            try Task.checkCancellation()
            let isAcknowledging = part.name == BenchDayPart.acknowledgementsName
            guard isAllowed else {
                record.omissions.append("\(part.name): it was left out.")
                // Without consent, nothing is acknowledged, also in the next part.
                if isAcknowledging { return }
                continue
            }
            if isAcknowledging {
                do {
                    stored = try await setup.store()
                } catch  where !(error is CancellationError) {
                    return record.omissions.append("\(part.name): the log could not be stored (\(error)).")
                }
            }
            try await play(part)
        }
    }

    // MARK: - One connection

    /// Runs a part. A lost connection ends the part; the first part is repeated.
    private func play(_ part: BenchDayPart) async throws {
        let attempts = part.name == BenchDayPart.firstName ? Self.firstAttempts : 1
        for attempt in 1...attempts {
            do {
                return try await once(part, attempt == 1 ? part.name : "\(part.name)-\(attempt)")
            } catch let skip as Skip {
                return record.omissions.append("\(part.name): \(skip.reason).")
            } catch let error as LinkError {
                Diagnostics.line("\(part.name): \(error)")
                guard attempt == attempts else { continue }
                if record.profile == nil { throw error }
                record.omissions.append("\(part.name): it broke off (\(error.sentence)).")
            }
        }
    }

    private func once(_ part: BenchDayPart, _ capture: String) async throws {
        try Task.checkCancellation()
        Diagnostics.line("Part \(capture)")
        let bottle = BenchDayConnection(try await setup.folder.open(capture))
        do {
            try await connect(bottle)
            for step in part.steps { try await perform(step, of: part, on: bottle) }
        } catch {
            await setClockBack(on: bottle)
            await bottle.close()
            try? await setup.folder.finish()
            throw error
        }
        await bottle.close()
        try await setup.folder.finish()
    }

    private func connect(_ bottle: BenchDayConnection) async throws {
        let (known, isWanted) = (peer, setup.isWanted)
        let found = try await bottle.connect(find: .seconds(setup.pace < 1 ? 5 : 60)) {
            seen in known.map { $0 == seen.peer } ?? isWanted(seen)
        }
        let (serial, name) = try await bottle.prepare()
        if peer == nil {
            (record.identity, record.name) = (found.address?.description ?? serial, found.name ?? name)
            peer = found.peer
        }
        (record.profile, record.mtu) = (await bottle.profile, await bottle.mtu)
    }

    /// Sets the clock back, because a clock that is ahead would date the next drinks wrongly.
    private func setClockBack(on bottle: BenchDayConnection) async {
        guard isClockAhead else { return }
        let clock = setup.wall()
        // Set the clock back also after a cancellation.
        isClockAhead = await Task { (try? await bottle.write(HostCommand.clock(clock).encoded)) == nil }.value
        if isClockAhead {
            record.omissions.append("The bottle's clock is in the next year: a poll with a trusted clock sets it.")
        }
    }

    // MARK: - One step

    private func perform(_ step: BenchDayStep, of part: BenchDayPart, on bottle: BenchDayConnection) async throws {
        let start = MonotonicClock.system.now()
        var recorded = BenchDayRecordedStep(
            part: part.name, name: step.name, request: step.request, at: setup.wall())
        if let prompt = step.prompt {
            guard let answer = await setup.answer(prompt) else {
                try Task.checkCancellation()
                if isClockAhead { throw Skip(reason: "\(step.name) was left out") }
                return record.omissions.append("\(step.name): it was left out.")
            }
            if case .sip(_, isMeasured: true) = prompt.kind { record.sips.append(answer) }
        }
        do {
            try await request(step.request, into: &recorded, from: start, on: bottle)
            if step.request != .read { recorded.values = await bottle.values(since: start) }
            try await add(recorded)
        } catch let error as LinkError {
            (recorded.failure, recorded.values) = (error.sentence, await bottle.values(since: start))
            try await add(recorded)
            // A rejection ends its step only.
            if error.code == .disconnected { throw error }
        }
    }

    /// Writes the records to the directory first.
    private func add(_ step: BenchDayRecordedStep) async throws {
        record.steps.append(step)
        if !step.records.isEmpty { try await setup.folder.append(step.records) }
    }

    private func request(
        _ request: BenchDayStep.Request, into step: inout BenchDayRecordedStep, from start: MonotonicInstant,
        on bottle: BenchDayConnection
    ) async throws {
        switch request {
        case .listen(let span):
            try await bottle.listen(from: start, within: span * setup.pace)
        case .read:
            step.values = [.init(after: .zero, bytes: try await bottle.readResponse())]
        case .scan(let span):
            guard let peer, setup.hasRadio else { return }
            step.advertisements = try await bottle.scan(span * setup.pace, for: peer)
        case .requireEmptyLog:
            guard let log = record.logs.last, log.isWholeLog, log.records.isEmpty else {
                throw Skip(reason: "the log is not empty, and a record of a wrong year must not stay among others")
            }
        case .ask(let command):
            step.sent = command.encoded
            try await ask(command, from: start, on: bottle)
        case .log:
            let command: HostCommand = record.profile == .draft ? .draftDump(1) : .drinkLog
            step.sent = command.encoded
            try await ask(command, from: start, on: bottle)
        case .acknowledge(let what):
            let command = HostCommand.acknowledge(bytes: try bytes(of: what))
            step.sent = command.encoded
            try await bottle.write(command.encoded)
        case .setClock(let isNextYear):
            guard await maySetClock() else { throw Skip(reason: "the clock must not be set") }
            let command = HostCommand.clock(isNextYear ? nextYear : setup.wall())
            step.sent = command.encoded
            try await bottle.write(command.encoded)
            isClockAhead = isNextYear
        }
    }

    /// Writes a command and waits for values.
    private func ask(_ command: HostCommand, from start: MonotonicInstant, on bottle: BenchDayConnection) async throws {
        // A log has many values, and a bottle can ignore a request directly after the subscription.
        let isLog = [.drinkLog, .draftDump(1), .draftDump(3), .draftDump(4)].contains(command)
        for _ in 1...(isLog || command == .snapshot ? 3 : 1) {
            try await bottle.write(command.encoded)
            try await bottle.listen(
                from: start, within: .seconds(3) * setup.pace, quiet: .seconds(isLog ? 2 : 0.5) * setup.pace
            ) { $0.contains(BottleMessage.logEmpty.frame.encoded) }
            if await !bottle.values(since: start).isEmpty { return }
        }
    }

    // MARK: - Safety of drinks and clock

    /// The number of bytes to acknowledge. Only stored records of a completely read log are acknowledged.
    private func bytes(of what: BenchDayStep.Acknowledgement) throws -> UInt16 {
        guard let log = record.logs.last, log.isWholeLog, !log.records.isEmpty else {
            throw Skip(reason: "the log was empty or not read to its end, so nothing was acknowledged")
        }
        switch what {
        case .one, .all:
            guard stored.isSuperset(of: log.records) else {
                throw Skip(reason: "the bottle has records that are not stored yet, so nothing was acknowledged")
            }
        case .nextYear:
            // The record is in the directory and does not count.
            guard log.records.count == 1, log.records[0][1...2].elementsEqual([nextYear.month, nextYear.day]) else {
                throw Skip(reason: "the log has other records, so the sip of the next year stays in the bottle")
            }
        }
        let count = what == .all ? log.records.count : 1
        guard let bytes = UInt16(exactly: count * DrinkRecord.size) else { throw Skip(reason: "the log is too long") }
        return bytes
    }

    /// The date of the next year's step. Its month and day identify the record, even if byte 0 is not the year.
    private var nextYear: BottleClock {
        let now = setup.wall()
        let date: UInt8 = now.month == 2 ? 3 : 2
        return BottleClock(yearByte: now.yearByte + 1, month: date, day: date, hour: 12, minute: 0, second: 0)
    }

    /// Asks the user which of two contradicting clocks is right.
    private func maySetClock() async -> Bool {
        guard !isClockAhead, let last = record.snapshots.last(where: { $0.snapshot.clock != nil }),
            let clock = last.snapshot.clock, let shown = LocalTime(clock), let host = LocalTime(last.step.at),
            (shown.milliseconds - host.milliseconds).magnitude > 86_400_000
        else { return true }
        let text = """
            The bottle's clock says \(clock), this computer's \(last.step.at). Set the bottle's clock to this \
            computer's time?
            """
        return await setup.answer(BenchDayPrompt(text, .confirm(byDefault: false))) != nil
    }
}
