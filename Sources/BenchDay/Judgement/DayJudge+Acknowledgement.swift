import BottleProtocol

/// What an acknowledgement drops.
extension DayJudge {
    /// The dump before that one, and that one.
    private func around(_ kind: DayStep.Kind) -> (before: DayLog, step: DayStep, after: DayLog)? {
        let logs = day.logs()
        guard let place = logs.firstIndex(where: { $0.step.kind == kind }), place > 0 else { return nil }
        return (logs[place - 1].log, logs[place].step, logs[place].log)
    }

    private func lost(_ before: DayLog, _ after: DayLog) -> [[UInt8]] {
        let left = Set(after.records)
        return before.records.filter { !left.contains($0) }
    }

    var acknowledgeWithoutDump: DayFinding {
        guard let (before, step, after) = around(.dumpAfterAcknowledgement(.blind)) else {
            return untried(.acknowledgeWithoutDump)
        }
        guard after.isWhole else { return untried(.acknowledgeWithoutDump, Self.unseen) }
        let dropped = lost(before, after)
        let words =
            dropped.isEmpty
            ? "Nothing was dropped: \(Self.counted(after.records.count, "record")) came as before."
            : "\(Self.counted(dropped.count, "record")) of \(before.records.count) went: it counts what there is."
        return DayFinding(
            .acknowledgeWithoutDump, dropped.isEmpty ? .confirmed : .contradicted, words,
            acknowledgements(before: step) + dropped.map { "gone: \(HexText.of($0))" })
    }

    var acknowledgeOne: DayFinding {
        guard let (before, step, after) = around(.dumpAfterAcknowledgement(.one)), let oldest = before.records.first
        else { return untried(.acknowledgeOne) }
        guard after.isWhole else { return untried(.acknowledgeOne, Self.unseen) }
        let dropped = lost(before, after)
        let words =
            dropped == [oldest]
            ? "The oldest went."
            : """
            \(Self.counted(dropped.count, "record")) of \(before.records.count) \
            went\(dropped.count == 1 ? ", not the oldest" : "").
            """
        return DayFinding(
            .acknowledgeOne, dropped == [oldest] ? .confirmed : .contradicted, words,
            acknowledgements(before: step) + dropped.map { "gone: \(HexText.of($0))" })
    }

    var acknowledgeAll: DayFinding {
        guard
            let step = day.steps.last(where: {
                if case .dumpAfterAcknowledgement(.all) = $0.kind { true } else { false }
            }),
            let response = day.response, case .dumpAfterAcknowledgement(.all(let count)) = step.kind
        else { return untried(.acknowledgeAll) }
        let log = DayLog(step, from: response)
        guard day.profile == .draft || log.isAnswered else { return untried(.acknowledgeAll, Self.unseen) }
        let known = Set(day.logs { $0 != step.kind }.flatMap(\.log.records))
        let again = log.records.filter(known.contains)
        let words =
            again.isEmpty
            ? "Of \(Self.counted(count, "record")) none came again."
            : "Of \(Self.counted(count, "record")) \(again.count) came again."
        return DayFinding(
            .acknowledgeAll, again.isEmpty ? .confirmed : .contradicted, words,
            acknowledgements(before: step) + lines(step))
    }

    /// Records that were not told are not gone.
    private static let unseen = "The request for the log after it was not answered, or not to the end."

    private func acknowledgements(before step: DayStep) -> [String] {
        guard let place = day.steps.firstIndex(of: step) else { return [] }
        return day.steps[..<place].last { if case .command(.acknowledge) = $0.kind { true } else { false } }.map {
            [line($0)]
        } ?? []
    }
}
