import BottleProtocol
import Bluetooth

// What follows from a dump that is on the disk: acknowledge, read again, or stop.
extension LogDrain {
    mutating func decide(_ dump: Round) -> [Action] {
        let sequence = dump.sequence
        let isWhole = dump.flaw == nil && dump.loose.isEmpty
        if let told {
            self.told = nil
            if !sequence.isEmpty, sequence.starts(with: told.prefix(sequence.count)) {
                refusals += 1
                if profile == .draft || refusals > 1 {
                    return finish(complete: true, "the bottle does not take acknowledgements and keeps its log")
                }
            } else {
                acknowledged += told.count
            }
        }
        if sequence.isEmpty, dump.loose.isEmpty, isWhole { return finish(complete: true, nil) }
        guard isWhole else {
            flawed += 1
            guard flawed < limits.sendings, dumps < limits.dumps, taken < limits.records else {
                return finish(complete: false, dump.flaw ?? "the log broke off")
            }
            return ask()
        }
        let isFull = taken >= limits.records
        let limitNote = isFull ? "\(taken) records came in one poll and there may be more" : nil
        if keep { return finish(complete: !isFull, limitNote) }
        let needsConfirmation = dump.frames.count > 1 && !isReading || profile == .draft && dump.notified || dump.isPieced || dump.hasTwins
            || candidate != nil
        guard needsConfirmation else { return acknowledge(sequence) }
        let common = candidate.map { zip($0, sequence).prefix { $0 == $1 }.count } ?? 0
        candidate = sequence
        if common > 0 {
            candidate = common == sequence.count ? nil : Array(sequence.dropFirst(common))
            return acknowledge(Array(sequence.prefix(common)))
        }
        guard dumps < limits.dumps, !isFull else { return finish(complete: false, limitNote ?? "it changed with each reading") }
        return ask()
    }

    private var isReading: Bool { lastRead != nil }

    mutating func acknowledge(_ records: [[UInt8]]) -> [Action] {
        let most = Int(UInt16.max) / DrinkRecord.size
        let named = Array(records.prefix(most))
        told = named
        phase = .acknowledging
        return [.acknowledge(records: named.count)]
    }
}

// The steps between the phases.
extension LogDrain {
    mutating func ask(again: Bool = false) -> [Action] {
        if again { sendings += 1 } else { (sendings, dumps) = (1, dumps + 1) }
        phase = .asking
        deadline = nil
        return [.ask]
    }

    mutating func receive(at now: MonotonicInstant) {
        phase = .receiving
        deadline = now.advanced(by: limits.silence)
    }

    mutating func settle() -> [Action] {
        phase = .settling
        deadline = nil
        return [.settle]
    }

    mutating func finish(complete: Bool, _ note: String?) -> [Action] {
        phase = .finished
        deadline = nil
        self.complete = complete
        self.note = note
        return [.finish]
    }
}
