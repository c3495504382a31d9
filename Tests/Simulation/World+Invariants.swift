import Bluetooth
import BottleProtocol
import Emulator
import Gateway
import GatewaySupport
import TrackerCore

// The invariants, checked at each poll, at each record that the bottle drops, and at the end.
extension World {
    /// Checks the sums of a report, and that the bottle dropped the acknowledged records.
    mutating func check(_ report: PollReport, removed: Int) {
        if let contradiction = report.contradiction { fail(.inconsistentCounts, contradiction) }
        // An empty log, a bottle that denies its log, and an answer that is lost completely look the same. So do a log
        // whose end overtakes its records and one without them.
        let isInOrder = !hasFault { $0[.shuffle] != 0 } && poll?.link.faults.contains { $0.kind == .swap } != true
        let isBelievable = !hasFault { $0[.lie] != 0 } && losses.isEmpty && isInOrder
        if isBelievable, report.acknowledged > removed {
            fail(.inconsistentCounts, "\(report.acknowledged) acknowledged, and the bottle dropped \(removed)")
        }
    }

    /// Counts whole records in a notification that never arrives.
    mutating func noteLoss(_ pdu: [UInt8]) {
        let value = Array(pdu.dropFirst(3))
        let entries = value.starts(with: [0x50, 0x54]) ? Array(value.dropFirst(4)) : value
        guard let found = try? Entry.sequence(decoding: entries) else {
            losses[[], default: 0] += 1
            return
        }
        for entry in found where entry.type == .log {
            for start in stride(from: 0, through: entry.data.count - DrinkRecord.size, by: DrinkRecord.size) {
                losses[Array(entry.data[start..<(start + DrinkRecord.size)]), default: 0] += 1
            }
        }
    }

    /// Whether the record was lost in as many readings as the gateway requires before it acknowledges. In draft packets
    /// one lost notification leaves no trace.
    private func isUndetectablyLost(_ raw: [UInt8]) -> Bool {
        losses[raw, default: 0] >= (scenario.bottle.profile == .draft ? 4 : 2)
    }

    private func hasFault(_ holds: (BottleFaults) -> Bool) -> Bool {
        holds(scenario.faults)
            || scenario.steps.contains { if case .faults(let faults) = $0.action { holds(faults) } else { false } }
    }

    /// Every record that the bottle drops on request is already in the journal of the acknowledging central (invariant
    /// 1).
    mutating func checkSaved(_ flash: BottleFlash) {
        defer { flashBefore = flash }
        guard flash.dropped > flashBefore.dropped else { return }
        let left = Set(flash.records.map(\.number))
        copies += flash.dropped - flashBefore.dropped
        copiesRemoved += max(0, copies - scenario.faults[.resend])
        copies = min(copies, scenario.faults[.resend])
        for record in flashBefore.records where !left.contains(record.number) {
            if pollingJournal.holds(record.bytes) {
                if poll?.otherCentral != nil { acknowledgedElsewhere.insert(record.bytes) }
            } else if isUndetectablyLost(record.bytes) {
                undetectablyLost.insert(record.bytes)
            } else {
                fail(.acknowledgedUnstored, "acknowledged before it was journaled: \(hex(record.bytes))")
            }
        }
    }

    mutating func checkEnd() {
        let kept = written.keys.filter {
            !overwritten.contains($0) && !undetectablyLost.contains($0) && !acknowledgedElsewhere.contains($0)
        }
        let entries = journal.entries
        var times: [[UInt8]: Int] = [:]
        var quarantined: Set<[UInt8]> = []
        // Cut by the bottle, or because of a small MTU.
        let isSplitInsideRecords = hasFault { $0[.split] > 0 } || scenario.polls.contains { $0.link.mtu != nil }
        for entry in entries {
            times[entry.raw, default: 0] += 1
            // Identical losses in two readings give the same pieces twice. Without a valid date they count nowhere.
            // Neither do pieces that are marked as no drinks.
            guard isSplitInsideRecords, written[entry.raw] == nil else { continue }
            if case .drink = entry.verdict { continue }
            quarantined.insert(entry.raw)
        }
        for raw in sorted(quarantined.filter { written[$0] != nil && !overwritten.contains($0) }) {
            fail(.unsettled, "still quarantined after six polls without faults: \(hex(raw))")
        }
        for raw in sorted(kept.filter { times[$0] != 1 }) {
            fail(
                (times[raw] ?? 0) > 1 ? .doubled : .missing,
                "in the journal \(times[raw] ?? 0) times instead of once: \(hex(raw))")
        }
        for raw in sorted(times.keys.filter { written[$0] == nil && !quarantined.contains($0) }) {
            fail(.invented, "invented: \(hex(raw))")
        }
        for raw in sorted(times.filter { $0.value > 1 }.map(\.key)) {
            fail(.doubled, "in the journal \(times[raw] ?? 0) times: \(hex(raw))")
        }
        if scenario.expectsBottleDates {
            checkFold(entries, times, quarantined)
        } else {
            checkDays(entries, quarantined)
        }
        if !hasFault({ $0[.resend] != 0 || $0[.forget] != 0 }), !bottle.flash.records.isEmpty {
            fail(
                .unsettled,
                "\(bottle.flash.records.count) records are still in the bottle after six polls without faults")
        }
        if let last = reports.last, last.failure != nil {
            fail(.unsettled, "the last poll, without faults, failed: \(last.failure?.description ?? "")")
        }
        checkExpectation(entries)
    }

    private func sorted(_ records: some Sequence<[UInt8]>) -> [[UInt8]] {
        records.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// At the end each drink counts on its true day or is quarantined, whatever the host's clock showed. A later poll
    /// with a trusted clock dates a record that was read with an untrusted one, unless the ring overwrote it by then.
    private mutating func checkDays(_ entries: [JournalEntry], _ quarantined: Set<[UInt8]>) {
        for entry in entries where !quarantined.contains(entry.raw) {
            guard let sip = written[entry.raw] else { continue }
            let recordTime = (try? DrinkRecord(decoding: entry.raw)).flatMap(instant)
            switch entry.verdict {
            case .drink(let at, _):
                if abs(at.seconds(to: sip.at)) > RecordResolver.maxLeadSeconds {
                    fail(.misdated, "counts at \(at), drunk at \(sip.at): \(hex(entry.raw))")
                }
            case .quarantined(let reason):
                if sip.hasDate, !overwritten.contains(entry.raw), let recordTime,
                    abs(recordTime.seconds(to: sip.at)) < RecordResolver.maxLeadSeconds
                {
                    fail(.misdated, "quarantined (\(reason)) although its date is correct: \(hex(entry.raw))")
                }
            case .notADrink:
                break
            }
        }
    }

    /// Compares the drinks that the bottle wrote with a correct clock, by day, with the fold over the journal.
    private mutating func checkFold(_ entries: [JournalEntry], _ times: [[UInt8]: Int], _ quarantined: Set<[UInt8]>) {
        var drunk: [LocalDay: Int] = [:]
        let calendar = DayCalendar(zone: scenario.zone)
        // A record that arrived once, in pieces, and was overwritten before a second reading is quarantined, because it
        // cannot be verified.
        for (raw, sip) in written
        where sip.hasDate && times[raw] != nil && !(quarantined.contains(raw) && overwritten.contains(raw)) {
            guard let record = try? DrinkRecord(decoding: raw), let instant = instant(record) else { continue }
            drunk[calendar.day(of: instant), default: 0] += record.amountMl
        }
        let fold = entries.days(in: calendar)
        if drunk.filter({ $0.value > 0 }) != fold {
            fail(.totals, "totals \(totalsText(fold)) differ from the drinks by day, \(totalsText(drunk))")
        }
    }

    private func totalsText(_ days: [LocalDay: Int]) -> String {
        days.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value) ml" }.joined(separator: ", ")
    }

    /// Checks the expected results of this scenario.
    private mutating func checkExpectation(_ entries: [JournalEntry]) {
        let expectation = scenario.expectation
        var drinks: [Int] = [], quarantined = 0
        for entry in entries {
            switch entry.verdict {
            case .drink: drinks.append(entry.amountMl)
            case .quarantined: quarantined += 1
            case .notADrink: break
            }
        }
        let days = entries.days(in: DayCalendar(zone: scenario.zone))
        let stored = Set(entries.map(\.raw))
        let lost = overwritten.count { !stored.contains($0) && !acknowledgedElsewhere.contains($0) }
        let figures: [(name: String, expected: Int?, found: Int)] =
            [
                ("sips", expectation.sips, drinks.count), ("ml", expectation.ml, drinks.reduce(0, +)),
                ("quarantined", expectation.quarantined, quarantined),
                ("acknowledged", expectation.acknowledged, reports.reduce(0) { $0 + $1.acknowledged }),
                ("lost", expectation.lost, lost),
                ("acknowledged-elsewhere", expectation.acknowledgedElsewhere, acknowledgedElsewhere.count),
                ("failed-polls", expectation.failedPolls, reports.count { $0.failure != nil }),
            ] + expectation.days.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value, days[$0.key] ?? 0) }
        for (name, expected, found) in figures {
            if let expected, expected != found { fail(.expectation, "\(name): \(expected) expected, \(found) found") }
        }
        for code in expectation.reported where !reported.contains(code) {
            let found = reported.isEmpty ? "nothing" : reported.sorted().joined(separator: ", ")
            fail(.expectation, "reported: \(code) expected, found: \(found)")
        }
    }

    /// By the zone in which the bottle's clock was set.
    private func instant(_ record: DrinkRecord) -> Instant? {
        let clock = BottleClock(
            yearByte: UInt8(record.yearByte), month: UInt8(record.month), day: UInt8(record.day),
            hour: UInt8(record.hour), minute: UInt8(record.minute), second: UInt8(record.second))
        return LocalTime(clock).map { local in
            let asUTC = Instant(milliseconds: local.milliseconds + 946_684_800_000)
            let near = Instant(milliseconds: asUTC.milliseconds - Int64(scenario.zone.offsetSeconds(at: asUTC)) * 1000)
            return Instant(milliseconds: asUTC.milliseconds - Int64(scenario.zone.offsetSeconds(at: near)) * 1000)
        }
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
