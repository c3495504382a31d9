import BottleProtocol
import CommandSupport
import Emulator

/// The result of the recorded steps for an open question about the protocol.
struct BenchDayQuestion: Sendable {
    enum Answer: String, Sendable { case yes, no, unknown }

    struct Finding: Sendable {
        let answer: Answer
        let words: String
        /// The bytes that support the result.
        var evidence: [String] = []
    }

    let point: String
    /// The heading of the question in the protocol spec.
    let rule: String
    let text: String
    let finding: @Sendable (BenchDayRecord) -> Finding

    static let all = [
        BenchDayQuestion(point: "byte-0", rule: "P3.3", text: "Is byte 0 of a record the year?") { day in
            guard let step = day.step("log-of-next-year"), let record = step.records.last else {
                return unknown("No record was made with the clock in another year.")
            }
            let year = step.at.yearByte + 1
            return Finding(
                answer: record[0] == year ? .yes : .no,
                words: "With the clock in 20\(year) byte 0 was \(hex([record[0]])).", evidence: [hex(record)])
        },
        BenchDayQuestion(
            point: "replay", rule: "P3.4", text: "Does the log keep records until they are acknowledged?"
        ) { day in
            guard let first = day.records("log-after-sips"), let second = day.records("log-again"), !first.isEmpty
            else {
                return unknown("Two complete logs with records are missing.")
            }
            let missing = first.filter { !second.contains($0) }
            return Finding(
                answer: missing.isEmpty ? .yes : .no,
                words: "\(first.count) records came, then \(second.count); \(missing.count) were not sent again.",
                evidence: missing.map(hex))
        },
        BenchDayQuestion(
            point: "acknowledge-without-dump", rule: "P3.6",
            text: "Does an acknowledgement drop records that were not sent on its connection?"
        ) { day in
            dropped(day, before: "log-again", after: "log-after-acknowledgement-without-log", isYes: { !$1.isEmpty })
        },
        BenchDayQuestion(
            point: "acknowledge-one", rule: "P3.4",
            text: "Does an acknowledgement of one record drop the oldest record only?"
        ) { day in
            dropped(
                day, before: "log-after-acknowledgement-without-log", after: "log-after-one",
                isYes: { $1 == Array($0.prefix(1)) })
        },
        BenchDayQuestion(
            point: "response-reads", rule: "P1.1", text: "Does the bottle answer reads of its response characteristic?"
        ) { day in
            guard let step = day.step("read") else { return unknown("It was not tried.") }
            guard let value = step.values.first else {
                return Finding(answer: .no, words: step.failure ?? "There was no response.")
            }
            return Finding(
                answer: .yes, words: "The value has \(value.bytes.count) bytes.", evidence: [hex(value.bytes)])
        },
        BenchDayQuestion(point: "clock-drifts", rule: "P2.8", text: "Does the bottle's clock drift or jump?") { day in
            let shown = day.snapshots.compactMap { step, snapshot in snapshot.clock.map { (step, $0) } }
            if let (_, clock) = shown.first(where: { !$0.1.isPossible }) {
                return Finding(answer: .yes, words: "It showed \(clock), which is not a time.")
            }
            let leads = shown.compactMap { step, clock in
                LocalTime(clock).flatMap { clock in
                    LocalTime(step.at).map { (clock.milliseconds - $0.milliseconds) / 1000 }
                }
            }
            guard leads.count > 1, let least = leads.min(), let most = leads.max() else {
                return unknown("Fewer than two snapshots showed its clock.")
            }
            return Finding(
                answer: most - least > 5 ? .yes : .no,
                words: "In \(leads.count) snapshots it was \(least) to \(most) s ahead of this computer's.",
                evidence: shown.map { "\($0.0.at) \($0.1)" })
        },
        BenchDayQuestion(
            point: "amount", rule: "P3.2", text: "Are bytes 6 and 7 of a record the amount in ml?"
        ) { day in
            guard let records = sipped(day) else { return unknown("No record of a known amount was received.") }
            let amounts = records.map { Int($0[6]) << 8 | Int($0[7]) }
            // The tolerance between a measuring cup and the bottle's sensor.
            let isSo = zip(day.sips, amounts).allSatisfy { abs($0 - $1) <= max(20, $0 * 15 / 100) }
            return Finding(
                answer: isSo ? .yes : .no,
                words: "By the cup \(list(day.sips)) ml, by the records \(list(amounts)) ml.",
                evidence: records.map(hex))
        },
        BenchDayQuestion(
            point: "bytes-10-11", rule: "P3.2",
            text: "Are bytes 10 and 11 the battery (Boost) or the temperature (Vita)?"
        ) { day in
            guard let record = sipped(day)?.last, let model = day.model,
                let snapshot = day.snapshots.first(where: { $0.step.part == "3-known-sips" })?.snapshot
            else { return unknown("No record of a known sip was received with a snapshot.") }
            let measured = model == .boost ? snapshot.batteryPercent : snapshot.temperatureC
            guard let measured else { return unknown("The snapshot has no such value.") }
            let isSo =
                model == .boost
                ? record[10] == 1 && abs(Int(record[11]) - measured) <= 5
                : abs(Int(Int8(bitPattern: record[10])) - measured) <= 5
            return Finding(
                answer: isSo ? .yes : .no,
                words: "They were \(hex(record[10...11])), with \(measured) \(model == .boost ? "%" : "°C").",
                evidence: [hex(record)])
        },
        BenchDayQuestion(point: "one-frame", rule: "P3.1", text: "Is a log one PT frame?") { day in
            guard let most = day.logs.filter(\.isWholeLog).max(by: { $0.records.count < $1.records.count }),
                most.records.count > 8, day.profile == .retail
            else { return unknown("No retail log had more than the eight records of one entry.") }
            return Finding(
                answer: most.frames == 1 ? .yes : .no, words: "\(most.records.count) records came in \(most.frames).",
                evidence: most.values.map { hex($0.bytes) }.filter { $0.hasPrefix("5054") })
        },
        BenchDayQuestion(
            point: "advertises-connected", rule: "P1.3", text: "Does the bottle advertise while it is connected?"
        ) { day in
            guard day.hasRadio, let step = day.step("scan"), step.failure == nil else {
                return unknown("It was not tried: this link has no radio, or the scan failed.")
            }
            return Finding(
                answer: step.advertisements > 0 ? .yes : .no,
                words: "\(step.advertisements) advertisements were seen while it was connected.")
        },
    ]

    /// The result as JSON with the keys of CLI spec C5.
    func json(_ day: BenchDayRecord) -> JSONValue {
        let finding = finding(day)
        return [
            "point": .string(point), "rule": .string(rule), "question": .string(text),
            "answer": .string(finding.answer.rawValue), "words": .string(finding.words),
            "evidence": .array(finding.evidence.prefix(8).map { .string($0) }),
        ]
    }

    private static func unknown(_ words: String) -> Finding { Finding(answer: .unknown, words: words) }

    private static func list(_ numbers: [Int]) -> String { numbers.map(String.init).joined(separator: ", ") }

    /// The records that the bottle deleted between two logs, after the acknowledgement.
    private static func dropped(
        _ day: BenchDayRecord, before: String, after: String, isYes: (_ before: [[UInt8]], _ gone: [[UInt8]]) -> Bool
    ) -> Finding {
        guard let first = day.records(before), let second = day.records(after), !first.isEmpty else {
            return unknown("It was not tried, or a log was not read to its end.")
        }
        let gone = first.filter { !second.contains($0) }
        return Finding(
            answer: isYes(first, gone) ? .yes : .no, words: "\(gone.count) of \(first.count) records were dropped.",
            evidence: gone.map(hex))
    }

    /// The new records after the known drinks, sorted by time.
    private static func sipped(_ day: BenchDayRecord) -> [[UInt8]]? {
        guard !day.sips.isEmpty, let after = day.records("log-after-sips"), let before = day.records("log") else {
            return nil
        }
        let known = Set(before + (day.records("log-after-app") ?? []))
        let new = after.filter { !known.contains($0) }
        return new.count == day.sips.count
            ? new.sorted { $0.prefix(6).lexicographicallyPrecedes($1.prefix(6)) } : nil
    }
}

/// Hexadecimal digits without spaces, as in `records.txt`.
func hex(_ bytes: some Collection<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
}
