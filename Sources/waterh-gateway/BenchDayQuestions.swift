import BottleProtocol
import CommandSupport
import Emulator

/// An open question about the protocol, answered by the recorded steps.
struct BenchDayQuestion: Sendable {
    /// The answer to the question, with its reason.
    struct Finding: Sendable {
        /// `yes`, `no` or `unknown`.
        let answer: String
        let text: String
        /// The bytes that support the answer.
        let evidence: [String]

        /// - Parameter isYes: the answer; `nil` if unknown.
        init(_ isYes: Bool?, _ text: String, _ evidence: [String] = []) {
            answer = isYes.map { $0 ? "yes" : "no" } ?? "unknown"
            (self.text, self.evidence) = (text, evidence)
        }
    }

    let id: String
    /// The heading of the question in the protocol spec.
    let rule: String
    let text: String
    let finding: @Sendable (BenchDayRecord) -> Finding

    static let all = [
        BenchDayQuestion(id: "byte-0", rule: "P3.3", text: "Is byte 0 of a record the year?") { day in
            guard let step = day.step("log-after-sips"), let record = measuredRecords(day)?.last else {
                return Finding(nil, "No record of a known amount was received.")
            }
            let year = step.at.yearByte
            guard year != 0x1A else {
                return Finding(nil, "Until the end of 2026 the year byte equals the constant 1A.")
            }
            return Finding(record[0] == year, "In 20\(year) byte 0 was \(hex([record[0]])).", [hex(record)])
        },
        BenchDayQuestion(
            id: "replay", rule: "P3.4", text: "Does the log keep records until they are acknowledged?"
        ) { day in
            guard let first = day.records("log-after-sips"), let second = day.records("log-again"), !first.isEmpty
            else { return Finding(nil, "Two complete logs with records are missing.") }
            let missing = first.filter { !second.contains($0) }
            return Finding(
                missing.isEmpty,
                "\(first.count) records were sent, then \(second.count); \(missing.count) were not sent again.",
                missing.map(hex))
        },
        BenchDayQuestion(
            id: "acknowledge-without-dump", rule: "P3.6",
            text: "Does an acknowledgement drop records that were not sent on its connection?"
        ) { day in
            dropped(day, before: "log-again", after: "log-after-acknowledgement-without-log") { !$1.isEmpty }
        },
        BenchDayQuestion(
            id: "acknowledge-one", rule: "P3.4",
            text: "Does an acknowledgement of one record drop the oldest record only?"
        ) { day in
            dropped(day, before: "log-after-acknowledgement-without-log", after: "log-after-one") {
                $1 == Array($0.prefix(1))
            }
        },
        BenchDayQuestion(
            id: "response-reads", rule: "P1.1", text: "Does the bottle answer reads of its response characteristic?"
        ) { day in
            guard let step = day.step("read") else { return Finding(nil, "The step was skipped.") }
            guard let value = step.values.first else {
                return Finding(false, step.failure ?? "There was no response.")
            }
            return Finding(true, "The value has \(value.bytes.count) bytes.", [hex(value.bytes)])
        },
        BenchDayQuestion(id: "clock-drifts", rule: "P2.8", text: "Does the bottle's clock drift or jump?") { day in
            let shown = day.snapshots.compactMap { step, snapshot in snapshot.clock.map { (step.at, $0) } }
            if let (_, clock) = shown.first(where: { !$0.1.isPossible }) {
                return Finding(true, "It showed \(clock), which is not a time.")
            }
            let clockLeads = shown.compactMap { host, clock -> Int64? in
                guard let clock = LocalTime(clock), let host = LocalTime(host) else { return nil }
                return (clock.milliseconds - host.milliseconds) / 1000
            }
            guard clockLeads.count > 1, let minimum = clockLeads.min(), let maximum = clockLeads.max() else {
                return Finding(nil, "Fewer than two snapshots showed its clock.")
            }
            return Finding(
                maximum - minimum > 5,
                "In \(clockLeads.count) snapshots it was \(minimum) to \(maximum) s ahead of this computer's.",
                shown.map { "\($0) \($1)" })
        },
        BenchDayQuestion(id: "amount", rule: "P3.2", text: "Are bytes 6 and 7 of a record the amount in ml?") { day in
            guard let records = measuredRecords(day) else {
                return Finding(nil, "No record of a known amount was received.")
            }
            let amounts = records.map { Int($0[6]) << 8 | Int($0[7]) }
            // The tolerance between a measuring cup and the bottle's sensor.
            let isWithinTolerance = zip(day.sips, amounts).allSatisfy { abs($0 - $1) <= max(20, $0 * 15 / 100) }
            return Finding(
                isWithinTolerance, "By the cup \(list(day.sips)) ml, by the records \(list(amounts)) ml.",
                records.map(hex))
        },
        BenchDayQuestion(
            id: "bytes-10-11", rule: "P3.2", text: "Are bytes 10 and 11 the battery (Boost) or the temperature (Vita)?"
        ) { day in
            guard let record = measuredRecords(day)?.last, let model = day.model,
                let snapshot = day.snapshots.first(where: { $0.step.part == "3-known-sips" })?.snapshot
            else { return Finding(nil, "No record of a known sip was received with a snapshot.") }
            let isBoost = model == .boost
            guard let measured = isBoost ? snapshot.batteryPercent : snapshot.temperatureC else {
                return Finding(nil, "The snapshot has no such value.")
            }
            let value = isBoost ? Int(record[11]) : Int(Int8(bitPattern: record[10]))
            return Finding(
                abs(value - measured) <= 5 && (!isBoost || record[10] == 1),
                "They were \(hex(record[10...11])), with \(measured) \(isBoost ? "%" : "°C").", [hex(record)])
        },
        BenchDayQuestion(id: "one-frame", rule: "P3.1", text: "Is a log one PT frame?") { day in
            let logs = day.logs.map { (step: $0, contents: $0.contents) }.filter(\.contents.isWholeLog)
            guard let (step, log) = logs.max(by: { $0.contents.records.count < $1.contents.records.count }),
                log.records.count > 8, day.profile == .retail
            else {
                return Finding(nil, "No log of a retail bottle had more than eight records, the maximum of one entry.")
            }
            return Finding(
                log.frames.count == 1,
                "\(log.records.count) records were sent; number of PT frames: \(log.frames.count).",
                step.values.map { hex($0.bytes) }.filter { $0.hasPrefix("5054") })
        },
        BenchDayQuestion(
            id: "advertises-connected", rule: "P1.3", text: "Does the bottle advertise while it is connected?"
        ) { day in
            guard day.hasRadio, let step = day.step("scan"), step.failure == nil else {
                return Finding(nil, "The step was skipped: this link has no radio, or the scan failed.")
            }
            return Finding(
                step.advertisements > 0, "\(step.advertisements) advertisements were seen while it was connected.")
        },
    ]

    /// The finding as JSON with the keys of CLI spec C5.
    func json(_ day: BenchDayRecord) -> JSONValue {
        let finding = finding(day)
        return [
            "point": .string(id), "rule": .string(rule), "question": .string(text),
            "answer": .string(finding.answer), "words": .string(finding.text),
            "evidence": .array(finding.evidence.prefix(8).map { .string($0) }),
        ]
    }

    private static func list(_ numbers: [Int]) -> String { numbers.map(String.init).joined(separator: ", ") }

    /// The finding about the records that the bottle deleted between two logs.
    private static func dropped(
        _ day: BenchDayRecord, before: String, after: String, isYes: (_ before: [[UInt8]], _ deleted: [[UInt8]]) -> Bool
    ) -> Finding {
        guard let first = day.records(before), let second = day.records(after), !first.isEmpty else {
            return Finding(nil, "The step was skipped, or a log was not read to its end.")
        }
        let deleted = first.filter { !second.contains($0) }
        return Finding(
            isYes(first, deleted), "\(deleted.count) of \(first.count) records were dropped.", deleted.map(hex))
    }

    /// The new records after the measured drinks, sorted by time; `nil` if their number differs.
    private static func measuredRecords(_ day: BenchDayRecord) -> [[UInt8]]? {
        guard !day.sips.isEmpty, let after = day.records("log-after-sips"), let before = day.records("log") else {
            return nil
        }
        let known = Set(before + (day.records("log-after-app") ?? []))
        let new = after.filter { !known.contains($0) }
        return new.count == day.sips.count
            ? new.sorted { $0.prefix(6).lexicographicallyPrecedes($1.prefix(6)) } : nil
    }
}
