import BottleProtocol
import Bluetooth

// What follows from a dump that is on the disk: acknowledge, read again, or stop.
extension LogDrain {
    /// What the journal has of the records: asked for each that might be acknowledged.
    struct Standing {
        /// The journal has it as a record.
        var isJournaled: ([UInt8]) -> Bool
        /// And had it before this poll, without a doubt.
        var wasKnown: ([UInt8]) -> Bool
        /// Records that came in this poll and are still in doubt (`PieceDoubts`): the bottle might drop them in the
        /// place of others.
        var doubted: Set<[UInt8]> = []
        /// Why nothing is to be acknowledged in this poll, where something speaks against it.
        var objection: String?
    }

    mutating func decide(_ dump: Round, _ standing: Standing, at now: MonotonicInstant) -> [Action] {
        guard dump.isWhole else {
            flawed += 1
            evidence.isLossy = true
            guard flawed < limits.flawedDumps, dumps < limits.dumps, taken < limits.records else {
                return finish(complete: false, dump.flaw ?? "the log broke off")
            }
            return askOnceMore(at: now)
        }
        hasRead = true
        // A draft dump by notification ends with an empty frame: where that is missing, more may be.
        if profile == .draft, dump.notified, !dump.ended { evidence.isLossy = true }
        if dump.notified, dump.singles > 0, profile == .draft || dump.frames.count > 1 { evidence.isFragile = true }
        let left = evidence.told.map { evidence.latest.count - $0.count } ?? 0
        // A log does not become empty by itself: "nothing" was the answer to another question, or the end of another
        // dump, and then the answer to this question is still to come.
        let isImpossible = dump.isEmpty && (evidence.told == nil ? !evidence.latest.isEmpty : left > 0)
        if isImpossible {
            isBehind = true
            if evidence.disbelievesNothing() { return another(complete: true, at: now) }
        }
        // Nor does one of which so far only pieces came.
        let isUnlikely =
            dump.isEmpty && evidence.hasBegun && evidence.latest.isEmpty && evidence.forgotten.isEmpty
            && evidence.told == nil
        let verdict = evidence.note(dump.records)
        evidence.isOpen = lacksBeginning(dump)
        switch verdict {
        case .nothing, .taken:
            break
        case .doubtful:
            if evidence.hungUp, profile == .draft {
                evidence.refused()
                return finish(complete: true, "the bottle hung up on the acknowledgement and keeps its log")
            }
            return another(complete: true, at: now)
        case .kept:
            if profile == .draft || evidence.refusals > 1 {
                return finish(complete: true, "the bottle does not take acknowledgements and keeps its log")
            }
        }
        if evidence.latest.isEmpty {
            // "Nothing" is taken at its word once, unless a lost packet would look the same.
            let (empties, looks) = (evidence.empties + (isImpossible ? 1 : 0), profile == .draft ? 2 : 1)
            if isUnlikely, empties >= Self.unlikelyLooks {
                return finish(
                    complete: false,
                    "the bottle began to send records, and then said \(Self.unlikelyLooks) times that it has none")
            }
            guard isUnlikely || empties < looks else { return finish(complete: true, nil) }
            evidence.isOpen = true
            return another(complete: !isUnlikely, at: now)
        }
        let limitNote = taken >= limits.records ? "\(taken) records came in one poll and there may be more" : nil
        if keep { return finish(complete: limitNote == nil, limitNote) }
        if let objection = standing.objection { return finish(complete: limitNote == nil, objection) }
        if dump.isOnePacket {
            return finish(
                complete: true,
                """
                the bottle shows one packet and does not say whether that is its whole log, so nothing was \
                acknowledged
                """
            )
        }
        // A reader is given the newest first: that some are known says nothing of the older ones.
        let count = evidence.acknowledgeable(
            sips: sipsSince(now), isJournaled: standing.isJournaled,
            wasKnown: { dump.notified && standing.wasKnown($0) })
        if count > 0, !isBehind, evidence.denies(standing.doubted) { return acknowledge(count) }
        if let limitNote { return finish(complete: false, limitNote) }
        return another(complete: evidence.isAgreed, at: now)
    }

    /// A dump that lacks its beginning may be the end of another.
    func lacksBeginning(_ dump: Round) -> Bool { profile == .retail && tellsStatus && dump.notified && !dump.hasStatus }

    /// How often a bottle is asked that says that it has no records, where a broken dump showed some. Another program
    /// may have taken them, and then the next poll is told the same at once.
    private static let unlikelyLooks = 3

    /// Reads the log once more, where there is time and leave for it.
    private mutating func another(complete: Bool, at now: MonotonicInstant) -> [Action] {
        guard dumps < limits.dumps else {
            return finish(
                complete: complete,
                complete ? "it was not read alike often enough to be acknowledged" : "it changed with each reading")
        }
        guard now.advanced(by: lastTook + (isBehind ? quietTime : .zero)) < budgetEnd else {
            return finish(
                complete: true,
                """
                it was read whole and is stored; to be acknowledged it must be read once more, and the next poll \
                does that
                """
            )
        }
        return askOnceMore(at: now)
    }

    private mutating func acknowledge(_ count: Int) -> [Action] {
        let most = Int(UInt16.max) / DrinkRecord.size
        let named = min(count, most)
        evidence.tell(named)
        phase = .acknowledging
        return [.acknowledge(records: named)]
    }
}

// The steps between the phases.
extension LogDrain {
    mutating func ask(at now: MonotonicInstant) -> [Action] {
        (sendings, dumps, askedAt) = (1, dumps + 1, now)
        return writeQuestion()
    }

    /// The same question once more: the bottle may have had it the first time.
    mutating func askAgain() -> [Action] {
        (sendings, isBehind) = (sendings + 1, true)
        return writeQuestion()
    }

    private mutating func writeQuestion() -> [Action] {
        phase = .asking
        deadline = nil
        return [.ask]
    }

    mutating func receive(at now: MonotonicInstant) {
        phase = .receiving
        deadline = now.advanced(by: limits.silence)
    }

    /// - Parameter leavingRest: the dump may go on, and what comes of it still comes again with the next.
    mutating func settle(leavingRest: Bool = false) -> [Action] {
        (phase, isClosing) = (.settling, !leavingRest)
        deadline = nil
        return [.settle]
    }

    mutating func finish(complete: Bool, _ note: String?) -> [Action] {
        phase = .finished
        deadline = nil
        self.complete = complete
        self.note = note
        if complete { evidence.conclude() }
        return [.finish]
    }
}
