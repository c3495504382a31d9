import Bluetooth
import BottleProtocol
import CommandSupport

/// Runs the parts of a hardware session in order, each on its own connection.
///
/// The order prevents data loss: the log is recorded before the manufacturer's app syncs, and only stored records are
/// acknowledged.
actor BenchDaySession {
    struct Setup: Sendable {
        let hasRadio: Bool
        let folder: BenchDayFolder
        let user: BenchDayUser
        /// Stores the log of the bottle with this address and returns its records; `nil` if the address can change.
        let store: @Sendable (_ address: String?) async throws -> Set<[UInt8]>
        let isWanted: @Sendable (Advertisement) -> Bool
        let wall: @Sendable () -> BottleClock
    }

    /// The data recorded so far.
    private(set) var record: BenchDayRecord
    private let setup: Setup
    private var peer: PeerID?
    private var address: String?
    private var part = ""

    /// Thrown to skip the rest of a part.
    private struct Skip: Error { let reason: String }

    init(_ setup: Setup) { (self.setup, record) = (setup, BenchDayRecord(hasRadio: setup.hasRadio)) }

    /// Runs all steps of the session.
    /// - Throws: `LinkError` if no bottle responds, `CancellationError`, and errors of recording and storing.
    func run() async throws {
        try await perform("1-first-connection", attempts: 3) { bottle in
            try await step("unasked", on: bottle) { try await listen(.seconds(12), from: $1, to: bottle) }
            try await send("snapshot", .snapshot, of: bottle)
            try await readLog("log", of: bottle)
            try await step("read", on: bottle) { step, _ in
                step.values = [.init(after: .zero, bytes: try await bottle.readResponse())]
            }
            try await step("scan", on: bottle) { step, _ in
                guard let peer, setup.hasRadio else { return }
                step.advertisements = try await bottle.scan(.seconds(10) * setup.user.waitFactor, for: peer)
            }
        }
        if await setup.user.syncs() {
            try await perform("2-after-the-app") { try await readLog("log-after-app", of: $0) }
        } else {
            try recordSkipped("2-after-the-app")
        }
        try await perform("3-known-sips") { bottle in
            try await send("snapshot", .snapshot, of: bottle)
            for ml in [100, 200, 300] {
                try await step("sip-\(ml)", on: bottle) {
                    guard let amount = await setup.user.drinks(ml: ml) else { return try recordSkipped("sip-\(ml)") }
                    record.sips.append(amount)
                    try await listen(.seconds(3), from: $1, to: bottle)
                }
            }
            try await readLog("log-after-sips", of: bottle)
            try await send("snapshot", .snapshot, of: bottle)
            try await readLog("log-again", of: bottle)
        }
        try await perform("4-requests") { bottle in
            try await send("snapshot", .snapshot, of: bottle)
            for number: UInt8 in [3, 4, 1] { try await send("bare-0\(number)", .draftDump(number), of: bottle) }
            for type: EntryType in [
                .temperature, .battery, .clock, .amount, .goal, .level, .charging, .language, .reminder, .tds,
            ] { try await send("get-0x" + String(type.rawValue, radix: 16), .get(type), of: bottle) }
        }
        try await acknowledgeLog("5-acknowledgements")
    }

    private func acknowledgeLog(_ name: String) async throws {
        guard await setup.user.agreesToAcknowledge() else { return try recordSkipped(name) }
        let stored: Set<[UInt8]>
        do {
            stored = try await setup.store(address)
        } catch  where !(error is CancellationError) {
            return record.omissions.append("\(name): the log could not be stored (\(error)).")
        }
        try await perform(name) { bottle in
            try await acknowledge("acknowledge-without-log", .one, of: stored, on: bottle)
            try await readLog("log-after-acknowledgement-without-log", of: bottle)
            try await acknowledge("acknowledge-one", .one, of: stored, on: bottle)
            try await readLog("log-after-one", of: bottle)
            try await acknowledge("acknowledge-all", .all, of: stored, on: bottle)
            try await readLog("log-after-all", of: bottle)
        }
    }

    /// Performs a part. A lost connection ends the part, which is then repeated if attempts are left.
    private func perform(
        _ part: String, attempts: Int = 1, _ steps: (BenchDayConnection) async throws -> Void
    ) async throws {
        self.part = part
        for attempt in 1...attempts {
            do {
                return try await connect(attempt == 1 ? part : "\(part)-\(attempt)", steps)
            } catch let skip as Skip {
                return record.omissions.append("\(part): \(skip.reason).")
            } catch let error as LinkError {
                Diagnostics.line("\(part): \(error)")
                guard attempt == attempts else { continue }
                if record.profile == nil { throw error }
                record.omissions.append("\(part): it was interrupted (\(error.sentence)).")
            }
        }
    }

    private func connect(_ capture: String, _ steps: (BenchDayConnection) async throws -> Void) async throws {
        try Task.checkCancellation()
        Diagnostics.line("Part \(capture)")
        let bottle = BenchDayConnection(try await setup.folder.open(capture))
        do {
            try await identify(bottle)
            try await steps(bottle)
        } catch {
            await bottle.close()
            try? await setup.folder.finish()
            throw error
        }
        await bottle.close()
        try await setup.folder.finish()
    }

    private func identify(_ bottle: BenchDayConnection) async throws {
        let (known, isWanted) = (peer, setup.isWanted)
        let (found, serial, name) = try await bottle.connect(within: .seconds(setup.user.isEmulated ? 5 : 60)) {
            seen in known.map { $0 == seen.peer } ?? isWanted(seen)
        }
        if peer == nil {
            (record.identity, record.name) = (found.address?.description ?? serial, found.name ?? name)
            (peer, address) = (found.peer, found.isAddressPrivate ? nil : found.address?.description)
        }
        (record.profile, record.mtu) = (await bottle.profile, await bottle.mtu)
    }

    /// Performs a step and records it. Writes its records to the directory before the next step.
    private func step(
        _ name: String, sending command: HostCommand? = nil, on bottle: BenchDayConnection,
        _ body: (_ step: inout BenchDayStep, _ start: MonotonicInstant) async throws -> Void
    ) async throws {
        let start = MonotonicClock.system.now()
        var step = BenchDayStep(part: part, name: name, at: setup.wall(), sent: command?.encoded)
        var failure: LinkError?
        do {
            try await body(&step, start)
        } catch let error as LinkError {
            failure = error
        }
        step.values += await bottle.values(since: start)
        step.failure = failure?.sentence
        record.steps.append(step)
        let records = step.contents.records
        if !records.isEmpty { try await setup.folder.append(records) }
        // Only a disconnect ends the part. Another error ends only its step.
        if let failure, failure.code == .disconnected { throw failure }
    }

    private func listen(_ span: Duration, from start: MonotonicInstant, to bottle: BenchDayConnection) async throws {
        try await bottle.listen(from: start, within: span * setup.user.waitFactor)
    }

    private func readLog(_ name: String, of bottle: BenchDayConnection) async throws {
        try await send(name, record.profile == .draft ? .draftDump(1) : .drinkLog, of: bottle)
    }

    /// Writes a command and waits for values.
    private func send(_ name: String, _ command: HostCommand, of bottle: BenchDayConnection) async throws {
        // A log has many values, and a bottle can ignore a request just after the subscription.
        let isLog = [.drinkLog, .draftDump(1), .draftDump(3), .draftDump(4)].contains(command)
        let waitFactor = setup.user.waitFactor
        try await step(name, sending: command, on: bottle) { _, start in
            for _ in 1...(isLog || command == .snapshot ? 3 : 1) {
                try await bottle.write(command.encoded)
                try await bottle.listen(
                    from: start, within: .seconds(3) * waitFactor, quiet: .seconds(isLog ? 2 : 0.5) * waitFactor
                ) { $0.contains(BottleMessage.logEmpty.frame.encoded) }
                if await !bottle.values(since: start).isEmpty { return }
            }
        }
    }

    private enum Acknowledgement { case one, all }

    /// Acknowledges records. Only stored records of a completely read log are acknowledged.
    private func acknowledge(
        _ name: String, _ records: Acknowledgement, of stored: Set<[UInt8]>, on bottle: BenchDayConnection
    ) async throws {
        guard let log = record.logs.last?.contents, log.isWholeLog, !log.records.isEmpty else {
            throw Skip(reason: "the log was empty or not read to its end, so nothing was acknowledged")
        }
        guard stored.isSuperset(of: log.records) else {
            throw Skip(reason: "the bottle has records that are not stored yet, so nothing was acknowledged")
        }
        let count = records == .all ? log.records.count : 1
        guard let bytes = UInt16(exactly: count * DrinkRecord.size) else { throw Skip(reason: "the log is too long") }
        let command = HostCommand.acknowledge(bytes: bytes)
        try await step(name, sending: command, on: bottle) { _, _ in try await bottle.write(command.encoded) }
    }

    /// Records a step or part that the user skipped. A stop of the session also ends a question.
    private func recordSkipped(_ name: String) throws {
        try Task.checkCancellation()
        record.omissions.append("\(name): skipped.")
    }
}
