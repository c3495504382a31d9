import Bluetooth
import BottleProtocol

/// The log: how it is sent, and what its records hold.
extension DayJudge {
    private var fullest: (step: DayStep, log: DayLog)? {
        day.logs().max { $0.log.records.count < $1.log.records.count }
    }

    var logAnswer: DayFinding {
        guard day.profile == .retail else { return untried(.logAnswer, "The draft profile has no such answer.") }
        let logs = day.logs()
        guard !logs.isEmpty else { return untried(.logAnswer) }
        for (step, log) in logs {
            // A bottle that says that nothing is stored after somebody drank is mistaken, too.
            let hasSips = step.kind == .dumpAfterSips && !day.sips.isEmpty
            guard let said = log.announced else {
                return DayFinding(
                    .logAnswer, .contradicted, "A request for the log was not answered by RP 06.", lines(step))
            }
            guard said == !log.records.isEmpty, said || !hasSips else {
                return DayFinding(
                    .logAnswer, .contradicted,
                    """
                    RP 06 said \(said ? "01" : "00"), and \(Self.counted(log.records.count, "record")) \
                    came\(hasSips ? " after \(Self.counted(day.sips.count, "sip"))" : "").
                    """,
                    lines(step))
            }
        }
        return DayFinding(
            .logAnswer, .confirmed, "So it was of \(Self.counted(logs.count, "dump")).",
            logs[0].step.values.prefix(1).map { line(logs[0].step, $0) })
    }

    var oneFrame: DayFinding {
        guard day.profile != .draft else {
            return untried(.oneFrame, "The draft profile sends a log in several frames.")
        }
        let logs = day.logs()
        if let (step, log) = logs.first(where: { $0.log.headers.count > 1 }) {
            return DayFinding(
                .oneFrame, .contradicted,
                "A dump of \(Self.counted(log.records.count, "record")) came in \(log.headers.count) frames.",
                log.headers.map { line(step, $0) })
        }
        guard let (step, log) = fullest, log.records.count > 8 else {
            return untried(.oneFrame, "No dump had more than the eight records of one entry.")
        }
        return DayFinding(
            .oneFrame, .confirmed, "\(Self.counted(log.records.count, "record")) came in one frame.",
            log.headers.map { line(step, $0) })
    }

    var wholeEntries: DayFinding {
        var pieces = 0
        for (step, log) in day.logs() {
            for piece in log.pieces {
                pieces += 1
                let isHeader = piece.bytes.starts(with: FrameOperation.put.letters)
                guard
                    (try? Entry.sequence(decoding: Array(piece.bytes.dropFirst(isHeader ? Frame.headerSize : 0))))
                        != nil
                else {
                    return DayFinding(
                        .wholeEntries, .contradicted,
                        """
                        A notification of \(Self.counted(piece.bytes.count, "byte")) ends inside an entry, or \
                        begins there.
                        """,
                        [line(step, piece)])
                }
            }
        }
        guard pieces > 0, let (step, log) = fullest else { return untried(.wholeEntries, "No log came.") }
        return DayFinding(
            .wholeEntries, .confirmed, "So it was of \(Self.counted(pieces, "notification")).",
            log.pieces.map { line(step, $0) })
    }

    var eightRecords: DayFinding {
        var most = 0
        for (step, log) in day.logs() {
            for piece in log.pieces {
                let isHeader = piece.bytes.starts(with: FrameOperation.put.letters)
                let entries =
                    (try? Entry.sequence(decoding: Array(piece.bytes.dropFirst(isHeader ? Frame.headerSize : 0)))) ?? []
                for entry in entries where entry.type == .log {
                    most = max(most, entry.data.count / DrinkRecord.size)
                    if most > 8 {
                        return DayFinding(
                            .eightRecords, .contradicted, "An entry holds \(most) records.", [line(step, piece)])
                    }
                }
            }
        }
        guard most > 0 else { return untried(.eightRecords, "No log came.") }
        guard (fullest?.log.records.count ?? 0) > 8 else {
            return untried(.eightRecords, "No dump had more than eight records.")
        }
        return DayFinding(.eightRecords, .confirmed, "The fullest entry holds \(most).")
    }

    var oldestFirst: DayFinding {
        guard let (step, log) = day.log(.dump), log.records.count > 1 else {
            return untried(.oldestFirst, "The first dump had fewer than two records.")
        }
        for (first, second) in zip(log.records, log.records.dropFirst())
        where second.prefix(6).lexicographicallyPrecedes(first.prefix(6)) {
            return DayFinding(
                .oldestFirst, .contradicted, "A later record came first.", [HexText.of(first), HexText.of(second)])
        }
        return DayFinding(
            .oldestFirst, .confirmed, "So it was of \(Self.counted(log.records.count, "record")).",
            log.headers.map { line(step, $0) })
    }

    var onceEach: DayFinding {
        var count = 0
        for step in day.steps {
            let values = step.values.filter { $0.characteristic == day.response }
            for (first, second) in zip(values, values.dropFirst()) {
                count += 1
                // Two sips alike report alike: only what comes within a tenth of a second is one notification twice.
                guard first.bytes == second.bytes, second.after - first.after < .milliseconds(100),
                    first.bytes.count > 9
                else { continue }
                return DayFinding(
                    .onceEach, .contradicted, "The same value came twice in a row.",
                    [line(step, first), line(step, second)])
            }
        }
        return count > 0
            ? DayFinding(.onceEach, .confirmed, "No value came twice in a row.")
            : untried(.onceEach, "Too little came.")
    }

    var replay: DayFinding {
        guard let (before, first) = day.log(.dumpAfterSips) ?? day.log(.dump), let (step, second) = day.log(.dumpAgain)
        else { return untried(.replay) }
        guard !first.records.isEmpty else { return untried(.replay, "The log was empty.") }
        let isAlike = first.records == second.records
        let isOtherOrder = first.records.sorted(by: Self.isEarlier) == second.records.sorted(by: Self.isEarlier)
        let all = first.records.count == 1 ? "The one record" : "All \(first.records.count) records"
        let words =
            isAlike
            ? "\(all) came again, in the same order."
            : isOtherOrder
                ? "\(all) came again, in another order."
                : first.records.count == second.records.count
                    ? "As many records came again, and not the same ones."
                    : "First \(Self.counted(first.records.count, "record")) came, then \(second.records.count)."
        let evidence =
            isAlike
            ? second.headers.map { line(step, $0) }
            : first.pieces.map { line(before, $0) } + second.pieces.map { line(step, $0) }
        return DayFinding(.replay, isAlike ? .confirmed : .contradicted, words, evidence)
    }

    // MARK: - Records

    /// The newest records after the person drank, one of each sip, in order; `nil`: fewer came.
    private var sipped: [(sip: DaySip, record: [UInt8])]? {
        guard !day.sips.isEmpty, let after = day.log(.dumpAfterSips)?.log.records else { return nil }
        let known = Set(day.logs { $0 == .dump || $0 == .dumpAfterApp }.flatMap(\.log.records))
        let new = after.filter { !known.contains($0) }
        // In the order of their times: in which order a bottle sends them is another point.
        return new.count == day.sips.count
            ? Array(zip(day.sips, new.sorted { $0.prefix(6).lexicographicallyPrecedes($1.prefix(6)) })) : nil
    }

    private static func isEarlier(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        first.lexicographicallyPrecedes(second)
    }

    /// The record that was made last, and the step that brought it: of what somebody drank in this day, or the latest
    /// by its own clock.
    private var newest: (step: DayStep, record: [UInt8], isOfToday: Bool)? {
        if let step = day.log(.dumpAfterSips)?.step, let last = sipped?.last { return (step, last.record, true) }
        guard let (step, log) = fullest,
            let last = log.records.max(by: { $0.prefix(6).lexicographicallyPrecedes($1.prefix(6)) })
        else { return nil }
        return (step, last, false)
    }

    private func amount(of record: [UInt8]) -> Int { Int(record[6]) << 8 | Int(record[7]) }

    private func sipLine(_ pair: (sip: DaySip, record: [UInt8])) -> String {
        "\(Self.time(pair.sip.at)) \(pair.sip.ml) ml by the cup: \(HexText.of(pair.record))"
    }

    var amount: DayFinding {
        guard !day.sips.isEmpty, day.log(.dumpAfterSips) != nil else {
            return untried(.amount, "Nobody drank a known amount.")
        }
        guard let sipped else {
            let new = day.log(.dumpAfterSips)?.log.records ?? []
            return untried(
                .amount,
                """
                \(Self.counted(day.sips.count, "sip")) and \(Self.counted(new.count, "record")) cannot be told \
                which is which.
                """
            )
        }
        // A cup and a bottle's sensor differ by so much.
        let wrong = sipped.filter { abs(amount(of: $0.record) - $0.sip.ml) > max(20, $0.sip.ml * 15 / 100) }
        let words =
            """
            By the cup \(sipped.map { "\($0.sip.ml)" }.joined(separator: ", ")) ml; by the records \
            \(sipped.map { "\(amount(of: $0.record))" }.joined(separator: ", ")) ml.
            """
        return DayFinding(.amount, wrong.isEmpty ? .confirmed : .contradicted, words, sipped.map(sipLine))
    }

    var recordTime: DayFinding {
        guard let sipped else { return untried(.recordTime, "No record is known to be of a sip that somebody saw.") }
        let lead = day.snapshots.last { snapshot in
            snapshot.step.connection <= (day.log(.dumpAfterSips)?.step.connection ?? 0)
                && snapshot.snapshot.clock != nil
        }
        .flatMap { found in
            found.snapshot.clock.flatMap(\.wallSeconds).flatMap { bottle in
                found.step.at.wallSeconds.map { bottle - $0 }
            }
        }
        guard let lead else { return untried(.recordTime, "Its clock is not known.") }
        var most: Int64 = 0
        for (sip, record) in sipped {
            guard let said = sip.at.wallSeconds, let clock = BottleClock(record.prefix(6)), var at = clock.wallSeconds
            else {
                return DayFinding(.recordTime, .contradicted, "A record's time is no time.", [HexText.of(record)])
            }
            // Byte 0 is another point: the year is taken from this machine.
            if clock.yearByte != sip.at.yearByte, let thisYear = BottleClock([sip.at.yearByte] + record[1..<6]),
                let other = thisYear.wallSeconds
            {
                at = other
            }
            most = max(most, abs(at - lead - said))
        }
        let words =
            """
            The times differ by at most \(most) s from when the person said so, with the bottle's clock \(lead) s \
            ahead.
            """
        return DayFinding(.recordTime, most <= 180 ? .confirmed : .contradicted, words, sipped.map(sipLine))
    }

    var sensorBytes: DayFinding {
        guard let (step, newest, isOfToday) = newest else { return untried(.sensorBytes, "No record came.") }
        guard let model = day.model else { return untried(.sensorBytes, "The model is not known.") }
        let snapshot = day.snapshots.last { $0.step.connection <= step.connection }?.snapshot
        let bytes = "Bytes 10 and 11 of the newest record are \(HexText.of(newest[10...11]))"
        // What the bottle says of itself now says nothing of a drink of last week.
        guard isOfToday || snapshot?.clock.map({ $0.month == newest[1] && $0.day == newest[2] }) ?? true else {
            return untried(.sensorBytes, "The newest record is of another day than the bottle's clock.")
        }
        switch model {
        case .boost:
            guard let battery = snapshot?.batteryPercent else {
                return untried(.sensorBytes, "Its battery is not known.")
            }
            // A charge falls between a sip and a snapshot.
            let isSo = newest[10] == 1 && abs(Int(newest[11]) - battery) <= 5
            return DayFinding(
                .sensorBytes, isSo ? .confirmed : .contradicted, "\(bytes), the battery is \(battery) %.",
                [HexText.of(newest)])
        case .vita:
            guard let temperature = snapshot?.temperatureC else {
                return untried(.sensorBytes, "Its temperature is not known.")
            }
            let isSo = abs(Int(Int8(bitPattern: newest[10])) - temperature) <= 5
            return DayFinding(
                .sensorBytes, isSo ? .confirmed : .contradicted, "\(bytes), the water has \(temperature) °C.",
                [HexText.of(newest)])
        }
    }

    var flag: DayFinding {
        guard let sipped else { return untried(.flag, "No record is known to be of a sip that somebody saw.") }
        let isZero = sipped.allSatisfy { $0.record[12] == 0 }
        let flags = sipped.map { HexText.of([$0.record[12]]) }.joined(separator: ", ")
        return DayFinding(
            .flag, isZero ? .confirmed : .contradicted, "Of \(Self.counted(sipped.count, "sip")) it was \(flags).",
            sipped.map(sipLine))
    }

    var yearByte: DayFinding {
        guard let (step, log) = day.log(.dumpOfNextYear) else {
            return untried(.yearByte, "All records seen are of one year, in which both readings agree.")
        }
        let known = Set(day.logs { $0.isDump && $0 != .dumpOfNextYear }.flatMap(\.log.records))
        let new = log.records.filter { !known.contains($0) }
        guard let record = new.last else { return untried(.yearByte, "No record came of the sip in the next year.") }
        let next = step.at.yearByte + 1
        let words = "With the clock in \(2000 + Int(next)) byte 0 was \(HexText.of([record[0]]))"
        if record[0] == next { return DayFinding(.yearByte, .confirmed, words + ": the year.", [HexText.of(record)]) }
        let meaning =
            record[0] == DrinkRecord.strictTypeByte
            ? ", the same as ever: a type, as the founding documents have it." : "."
        return DayFinding(.yearByte, .contradicted, words + meaning, [HexText.of(record)])
    }
}
