import BottleProtocol
import Bluetooth
import TrackerCore

// The log: values to the assembler, its findings to the drain, the drain's wishes to link and journal.
extension BottleSession {
    mutating func beginLog(_ table: BottleTable, _ work: inout PollWork) {
        work.show(.polling)
        drain = LogDrain(
            profile: table.profile, reads: table.responseReads, isListening: isListening, keep: work.options.keep,
            hasRadio: work.hasRadio, limits: work.limits,
            evidence: work.evidence, budgetEnd: work.budgetEnd ?? work.now.advanced(by: work.limits.poll))
        if wasBehind { drain?.isBehind = true }
        if let actions = drain?.begin(at: work.now) { follow(actions, &work) }
    }

    mutating func receive(_ value: [UInt8], _ work: inout PollWork) {
        work.notifications += 1
        guard work.notifications + junk <= work.limits.notifications else {
            keepRest(&work)
            end = .failed(
                PollFailure(
                    .unexpectedResponse, "more than \(work.limits.notifications) notifications came in one poll.",
                    code: "tooManyNotifications"))
            return
        }
        // A bottle whose values are cut begins a frame with each; one that knows the MTU goes on with the frame before.
        if isCut, !Self.beginsFrame(value), !Self.isWhole(value) { isJoined = true }
        if !isCut, mtu < Self.logMTU, value.count == mtu - 3 {
            isCut = true
            work.say(
                .warning,
                """
                The connection's MTU is \(mtu): notifications end at \(mtu - 3) bytes and the rest of them is \
                lost. A log needs \(Self.logMTU); nothing that is cut is acknowledged.
                """
            )
        }
        if drain != nil, !isPieced, !Self.isWhole(value) { isPieced = true }
        let before = assembler.progress?.received
        take(assembler.receive(value), &work)
        guard end == nil, let progress = assembler.progress, progress.received != before else { return }
        drain?.progress(at: work.now)
        if drain != nil {
            work.show(.polling, PollProgress.Transfer(received: progress.received, announced: progress.expected))
        }
    }

    /// Whether a value is a frame, or entries, as bottles notify them: nothing of it depends on the values around it.
    static func isWhole(_ value: [UInt8]) -> Bool {
        if (try? Frame(decoding: value)) != nil { return true }
        let entries = value.starts(with: FrameOperation.put.letters) ? Array(value.dropFirst(Frame.headerSize)) : value
        return (try? Entry.sequence(decoding: entries)) != nil
    }

    /// Whether a value from a bottle is the beginning of a frame.
    static func beginsFrame(_ value: [UInt8]) -> Bool {
        [FrameOperation.put, .response, .report].contains { value.starts(with: $0.letters) }
    }

    mutating func read(_ value: [UInt8], _ work: inout PollWork) {
        guard let drain, drain.phase == .reading else { return }
        let isPacket = value.starts(with: FrameOperation.put.letters)
        if !drain.isRepetition(value) {
            if isPacket || !value.isEmpty { take(assembler.receive(value) + assembler.finish(), &work) }
        }
        guard end == nil, self.drain?.phase == .reading, let actions = self.drain?.readValue(value, isPacket: isPacket)
        else { return }
        follow(actions, &work)
    }

    mutating func take(_ events: [AssemblyEvent], _ work: inout PollWork) {
        for event in events where end == nil {
            switch event {
            case .message(let frame):
                noteAnswer(&work)
                answered(frame, &work)
            case .log(let transfer):
                noteAnswer(&work)
                if drain == nil {
                    work.say(.info, "The bottle sent log records unasked; they come again when asked for.")
                }
                // A whole frame may be the only one of a dump that was short enough: older ones never come.
                if isCut, !isJoined { drain?.flaw("values end at \(mtu - 3) bytes, and what they lack is lost") }
                if let actions = drain?.frame(
                    transfer.rawRecords, isAcknowledgeable: transfer.isAcknowledgeable, isPieced: transfer.isPieced,
                    at: work.now)
                {
                    follow(actions, &work)
                }
            case .unfinished(let transfer, let reason):
                if transfer.count > 0 { noteAnswer(&work) }
                // Out of step, bytes would make drinks that nobody drank: then they are kept as bytes.
                let isDoubtful = isCut || isPieced || transfer.isOutOfStep
                drain?.loose(isDoubtful ? [] : transfer.rawRecords)
                work.say(.info, "A log transfer broke off: \(reason).")
                if transfer.count == 0 || isDoubtful { unreadable(transfer.payload, reason.description, &work) }
            case .repeated:
                break
            case .malformed(let bytes, let reason):
                drain?.flaw("unreadable bytes came in between")
                unreadable(bytes, reason.description, &work)
            }
        }
    }

    mutating func unreadable(_ bytes: [UInt8], _ reason: String, _ work: inout PollWork) {
        // It comes again once it is known whose it is.
        guard recognition == nil else { return }
        junk += 1
        if junk <= 3 { work.say(.warning, "Bytes that could not be understood were kept apart: \(reason).") }
        keeper.quarantine(bytes, reason, bottle: work.bottle, &work)
    }

    mutating func follow(_ actions: [LogDrain.Action], _ work: inout PollWork) {
        for action in actions where end == nil {
            switch action {
            case .ask:
                // What still waits for its other half never will be whole.
                take(assembler.finish(), &work)
                drain?.forgetEarlierDump()
                isPieced = false
                if let question = drain?.question { write(question.encoded, &work) }
            case .read:
                if let table { expect(.read(handle: table.response), &work, within: work.limits.request) }
            case .settle:
                settle(&work)
            case .acknowledge(let records):
                guard let count = UInt16(exactly: records * DrinkRecord.size) else { continue }
                noteEvidence(&work)
                write(HostCommand.acknowledge(bytes: count).encoded, &work)
            case .finish:
                finishLog(&work)
            }
        }
    }

    mutating func settle(_ work: inout PollWork) {
        take(assembler.finish(), &work)
        guard let round = drain?.takeRound() else { return }
        if let recognition { return compare(round.all, recognition, &work) }
        if isOutdated(by: round.all, work) { return askAnew(&work) }
        judgeClock(round.all, &work)
        keeper.store(round.all, doubts: drain?.evidence.doubts(of: round) ?? PieceDoubts(), bottle: work.bottle, &work)
        keeper.ask(standingOf: round.records, bottle: work.bottle, &work)
        if keeper.isSettled { settled(&work) }
    }

    /// The journal has answered for everything: what follows from the dump?
    mutating func settled(_ work: inout PollWork) {
        let (journaled, settled, keeper) = (work.journaled, work.settled, keeper)
        // Somebody may have put a backup back since it was stored.
        let isUndone = drain?.records.contains { journaled.contains($0) && keeper.standing[$0] == nil } == true
        let standing = LogDrain.Standing(
            isJournaled: { journaled.contains($0) && keeper.standing[$0] != nil },
            wasKnown: { settled.contains($0) && keeper.isFromWholeReading($0) },
            doubted: work.unproven,
            objection: isUndone
                ? """
                what this poll stored is in the store no more, so nothing is acknowledged: the next poll stores it \
                again
                """
                : work.clock?.objection)
        guard let actions = drain?.settled(standing, at: work.now) else { return }
        noteEvidence(&work)
        follow(actions, &work)
    }

    /// What is known of the log outlives the connection, and the report's figures follow from it.
    func noteEvidence(_ work: inout PollWork) {
        guard let drain else { return }
        work.evidence = drain.evidence
        work.report.acknowledged = drain.evidence.forgotten.count
        work.report.unconfirmed = drain.evidence.unconfirmed
    }

    mutating func finishLog(_ work: inout PollWork) {
        guard let drain else { return }
        if drain.hasRead {
            noteAnswer(&work)
            work.report.storedRecords = drain.evidence.latest.count
        }
        noteEvidence(&work)
        work.report.complete = drain.complete
        judgeClock([], &work)
        if !work.unproven.isEmpty {
            work.say(
                .info,
                """
                About the log: \(counted(work.unproven.count, "record")) came in pieces that may be of two \
                records; such a record counts when the bottle sends it alike in another reading of its whole log.
                """
            )
        }
        if let note = drain.note { work.say(drain.complete ? .info : .warning, "About the log: \(note).") }
        if isCut, !drain.complete {
            end = .failed(
                PollFailure(
                    .unexpectedResponse,
                    """
                    the connection's MTU is \(mtu), so the bottle's values were cut after \(mtu - 3) bytes; a log \
                    needs an MTU of \(Self.logMTU). Nothing that was cut was acknowledged.
                    """,
                    code: "smallMTU", values: ["mtu": "\(Self.logMTU)"]))
        } else if drain.unanswered || !drain.complete, work.report.received == 0, junk > 0 {
            end = .failed(
                PollFailure(
                    .unexpectedResponse,
                    "what came back is not the WaterH protocol (\(junk) unreadable pieces were kept).",
                    code: "notTheProtocol"))
        } else if drain.unanswered, isResumed {
            // What was kept may be a link that is dead: only a new connection tells.
            end = .lost(
                LinkError(.timeout, "The bottle said nothing on the connection that was kept.", isTransient: true))
        } else if drain.unanswered {
            end = .failed(
                PollFailure(
                    .didNotAnswer, "it was asked for its log \(work.limits.sendings) times.", code: "saidNothing"))
        } else if !drain.complete, drain.taken < work.limits.records {
            end = .failed(
                PollFailure(
                    .didNotAnswer, "its log did not come through whole: \(drain.note ?? "it broke off").",
                    code: "logBrokeOff"))
        } else if case .contradicted(let sentence) = work.clock {
            end = .failed(PollFailure(.clockDoubtful, sentence + "."))
        } else {
            advance(&work)
        }
    }
}

// The host's clock, judged once a poll: when the first records are there, or the log turned out empty.
extension BottleSession {
    func judge(_ records: [[UInt8]], _ work: PollWork) -> HostClock.Verdict {
        if work.options.trustsClock {
            return SettingsPlan.isFarOff(work) && work.options.correctClockBeyond != nil ? .bottleIsWrong : .believed
        }
        let (mark, drift) = (work.clockMark, work.report.clockDriftSeconds)
        let echoes = BottleEcho.found(
            in: HostClock.heardSettings(keeper.memory, drift: drift, mark), host: mark, drift: nil)
        let dating = RecordDating(
            bottle: work.bottle, options: work.options, received: work.wall, drift: drift, echoes: echoes)
        return HostClock.judge(
            host: mark, drift: drift, memory: keeper.memory, log: dating.times(records), zone: work.options.zone)
    }

    mutating func judgeClock(_ records: [[UInt8]], _ work: inout PollWork) {
        if work.clock == nil || !work.isClockJudgedByLog && !records.isEmpty {
            work.clock = judge(records, work)
            work.isClockWitnessed =
                work.options.trustsClock
                || HostClock.isWitnessed(work.clockMark, drift: work.report.clockDriftSeconds, keeper.memory)
            work.isClockJudgedByLog = !records.isEmpty
            work.memory = keeper.memory
            switch work.clock {
            case .undecided(let sentence), .near(let sentence):
                work.say(.warning, "\(sentence): no clock is set.", code: "clockUndecided")
            case .believed, .bottleIsWrong, .contradicted, nil: break
            }
        }
    }
}

extension LogTransfer {
    /// Bytes outside a frame that are no entries: where a record begins in them is anybody's guess.
    var isOutOfStep: Bool { length == nil && (try? Entry.sequence(decoding: payload)) == nil }

    /// The records one by one, 13 bytes each.
    var rawRecords: [[UInt8]] {
        stride(from: 0, to: count * DrinkRecord.size, by: DrinkRecord.size).map {
            Array(recordBytes[$0..<($0 + DrinkRecord.size)])
        }
    }
}
