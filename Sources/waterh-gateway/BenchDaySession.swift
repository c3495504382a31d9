import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import TrackerCore
import Emulator

/// The user of the session.
protocol BenchDayUser: Sendable {
    /// Shows the prompt and returns the answer; `nil` skips the step.
    func answer(_ prompt: BenchDayPrompt) async -> String?
}

/// Runs the parts of a hardware session in order. `record` has all data recorded so far.
actor BenchDaySession {
    private(set) var record: BenchDayRecord
    private let surroundings: Surroundings
    private var peer: PeerID?
    /// The records in the store.
    private var stored: Set<[UInt8]> = []
    /// Whether the bottle's clock is set to next year and must be set back.
    private var isClockAhead = false

    /// The functions that the session needs.
    struct Surroundings: Sendable {
        let hasRadio: Bool
        let person: any BenchDayUser
        let recorders: BenchDayRecorders
        let folder: BenchDayFolder
        let storing: BenchDayStoring
        let isWanted: @Sendable (Advertisement) -> Bool
        /// Returns the local time.
        let wall: @Sendable () -> BottleClock
        /// The divisor of waiting times; 1 with a real bottle.
        let pace: Double
    }

    /// Ends a part with a reason.
    private struct Skip: Error { let reason: String }

    private static let firstAttempts = 3

    init(_ surroundings: Surroundings) {
        (self.surroundings, record) = (surroundings, BenchDayRecord(hasRadio: surroundings.hasRadio))
    }

    /// - Throws: `LinkError` without a bottle, `CancellationError`, and errors of recording and storing.
    func run() async throws {
        for part in BenchDayPart.all {
            let isAllowed = await isAllowed(part)
            try Task.checkCancellation()
            guard isAllowed else {
                record.omissions.append("\(part.name): it was left out.")
                // Without consent, nothing is acknowledged, also in the next part.
                if part.name == BenchDayPart.acknowledgementsName { return }
                continue
            }
            if part.name == BenchDayPart.acknowledgementsName, try await !store() { return }
            try await play(part)
        }
    }

    private func isAllowed(_ part: BenchDayPart) async -> Bool {
        guard let prompt = part.prompt else { return true }
        guard let text = await surroundings.person.answer(prompt) else { return false }
        return prompt.form == .done || text.lowercased().hasPrefix("y")
    }

    private func store() async throws -> Bool {
        do {
            stored = try await surroundings.storing.records()
            return true
        } catch let error as CancellationError {
            throw error
        } catch {
            record.omissions.append("\(BenchDayPart.acknowledgementsName): the log could not be stored (\(error)).")
            return false
        }
    }

    // MARK: - One connection

    /// Runs a part. A lost connection ends the part; the first part is repeated.
    private func play(_ part: BenchDayPart) async throws {
        let isFirst = part.name == BenchDayPart.firstName
        for attempt in 1...(isFirst ? Self.firstAttempts : 1) {
            do {
                return try await once(part, attempt == 1 ? part.name : "\(part.name)-\(attempt)")
            } catch let skip as Skip {
                return record.omissions.append("\(part.name): \(skip.reason).")
            } catch let error as LinkError {
                Diagnostics.line("\(part.name): \(error)")
                guard !isFirst || attempt == Self.firstAttempts else { continue }
                if record.profile == nil { throw error }
                record.omissions.append("\(part.name): it broke off (\(error.sentence)).")
            }
        }
    }

    private func once(_ part: BenchDayPart, _ capture: String) async throws {
        try Task.checkCancellation()
        Diagnostics.line("Part \(capture)")
        let bottle = BenchDayConnection(try await surroundings.recorders.open(capture))
        do {
            try await connect(bottle)
            for step in part.steps { try await self.try(step, of: part, on: bottle) }
        } catch {
            await setClockBack(on: bottle)
            await bottle.close()
            try? await surroundings.recorders.finish(capture)
            throw error
        }
        await bottle.close()
        try await surroundings.recorders.finish(capture)
    }

    private func connect(_ bottle: BenchDayConnection) async throws {
        let (known, isWanted) = (peer, surroundings.isWanted)
        let found = try await bottle.connect(find: .seconds(surroundings.pace < 1 ? 5 : 60)) {
            seen in known.map { $0 == seen.peer } ?? isWanted(seen)
        }
        let (serial, name) = try await bottle.prepare()
        if peer == nil {
            (record.identity, record.name) = (found.address?.description ?? serial, found.name ?? name)
            peer = found.peer
        }
        (record.profile, record.mtu) = (await bottle.table?.profile, await bottle.mtu)
    }

    /// Sets the clock back, because a clock that is ahead would date the next drinks wrongly.
    private func setClockBack(on bottle: BenchDayConnection) async {
        guard isClockAhead else { return }
        let clock = surroundings.wall()
        // Set the clock back also after a cancellation.
        isClockAhead = await Task { (try? await bottle.write(HostCommand.clock(clock).encoded)) == nil }.value
        if isClockAhead {
            record.omissions.append("The bottle's clock is in the next year: a poll with a trusted clock sets it.")
        }
    }

    // MARK: - One step

    private func `try`(_ step: BenchDayStep, of part: BenchDayPart, on bottle: BenchDayConnection) async throws {
        let start = MonotonicClock.system.now()
        var recorded = BenchDayRecordedStep(part.name, step, at: surroundings.wall())
        if let prompt = step.prompt {
            guard let text = await surroundings.person.answer(prompt) else {
                try Task.checkCancellation()
                if isClockAhead { throw Skip(reason: "\(step.name) was left out") }
                return record.omissions.append("\(step.name): it was left out.")
            }
            if case .amount(let usual) = prompt.form { record.sips.append(Int(text) ?? usual) }
        }
        do {
            try await perform(step.request, into: &recorded, from: start, on: bottle)
        } catch let error as LinkError {
            (recorded.failure, recorded.values) = (error.sentence, await bottle.values(since: start))
            try await add(recorded)
            // A rejection ends its step only.
            guard error.code != .disconnected else { throw error }
            return
        }
        if step.request != .read { recorded.values = await bottle.values(since: start) }
        try await add(recorded)
    }

    /// Writes the records to the directory first.
    private func add(_ step: BenchDayRecordedStep) async throws {
        record.steps.append(step)
        if !step.records.isEmpty { try surroundings.folder.keep(step.records) }
    }

    private func perform(
        _ request: BenchDayStep.Request, into step: inout BenchDayRecordedStep, from start: MonotonicInstant,
        on bottle: BenchDayConnection
    ) async throws {
        switch request {
        case .listen(let span):
            try await bottle.listen(from: start, within: span * surroundings.pace)
        case .ask(let command):
            try await ask(command, into: &step, from: start, on: bottle)
        case .log:
            let command: HostCommand = record.profile == .draft ? .draftDump(1) : .drinkLog
            try await ask(command, into: &step, from: start, on: bottle)
        case .read:
            guard let response = await bottle.table?.response else { return }
            step.values = [.init(after: .zero, bytes: try await bottle.read(response))]
        case .scan(let span):
            guard let peer, surroundings.hasRadio else { return }
            step.advertisements = try await bottle.scan(span * surroundings.pace, for: peer)
        case .acknowledge(let what):
            let command = HostCommand.acknowledge(bytes: try bytes(of: what))
            step.sent = command.encoded
            try await bottle.write(command.encoded)
        case .requireEmptyLog:
            guard let log = record.logs.last, log.isWholeLog, log.records.isEmpty else {
                throw Skip(reason: "the log is not empty, and a record of a wrong year must not stay among others")
            }
        case .setClock(let isNextYear):
            guard await maySetClock() else { throw Skip(reason: "the clock must not be set") }
            let command = HostCommand.clock(isNextYear ? nextYear : surroundings.wall())
            step.sent = command.encoded
            try await bottle.write(command.encoded)
            isClockAhead = isNextYear
        }
    }

    private func ask(
        _ command: HostCommand, into step: inout BenchDayRecordedStep, from start: MonotonicInstant,
        on bottle: BenchDayConnection
    ) async throws {
        step.sent = command.encoded
        // A log has many values, and a bottle can ignore a request directly after the subscription.
        let isLog = [.drinkLog, .draftDump(1), .draftDump(3), .draftDump(4)].contains(command)
        let attempts = step.request == .log || command == .snapshot ? 3 : 1
        for _ in 1...attempts {
            try await bottle.write(command.encoded)
            try await bottle.listen(
                from: start, within: .seconds(3) * surroundings.pace,
                quiet: .seconds(isLog ? 2 : 0.5) * surroundings.pace
            ) { $0.contains(BottleMessage.logEmpty.frame.encoded) }
            if await !bottle.values(since: start).isEmpty { return }
        }
    }

    // MARK: - Safety of drinks and clock

    /// The number of bytes to acknowledge. Only stored records of a completely read log are acknowledged.
    private func bytes(of what: BenchDayAcknowledgement) throws -> UInt16 {
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
        let now = surroundings.wall()
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
        return await surroundings.person.answer(BenchDayPrompt("clock", text, .yesNo(false)))?.hasPrefix("y") ?? false
    }
}
