import Bluetooth
import BottleProtocol
import Gateway
import TrackerCore
import Emulator

// The promises: checked at each poll, at each record that the bottle drops, and at the end.
extension World {
    /// The figures add up, and what the report calls acknowledged is gone from the bottle.
    mutating func check(_ report: PollReport, gone: Int) {
        if let contradiction = report.contradiction { fail(.figures, contradiction) }
        // A bottle that denies its log, or an answer that was lost with all of it, cannot be told from an empty one;
        // and a dump whose end has overtaken its records not from one that lacks them.
        let isInOrder = !hasHabit(\.shuffle) && poll?.link.faults.contains { $0.kind == .swap } != true
        let isBelievable = !hasHabit { $0.lie != 0 } && losses.isEmpty && isInOrder
        if isBelievable, report.acknowledged > gone {
            fail(.figures, "\(report.acknowledged) acknowledged, and the bottle dropped \(gone)")
        }
    }

    /// Whole records in a notification that never arrives.
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

    /// In as many readings as the gateway asks for before it acknowledges; in draft packets one lost notification
    /// leaves no trace.
    private func isSwallowed(_ raw: [UInt8]) -> Bool {
        losses[raw, default: 0] >= (scenario.bottle.profile == .draft ? 4 : 2)
    }

    private func hasHabit(_ holds: (BottleFaults) -> Bool) -> Bool {
        holds(scenario.habits)
            || scenario.steps.contains { if case .habits(let habits) = $0.act { holds(habits) } else { false } }
    }

    /// Whatever the bottle has just dropped because it was told to is in the journal already (promise 1), in that of
    /// whoever asks.
    mutating func checkSaved(_ flash: BottleFlash) {
        defer { flashBefore = flash }
        guard flash.dropped > flashBefore.dropped else { return }
        let left = Set(flash.records.map(\.number))
        copies += flash.dropped - flashBefore.dropped
        copiesGone += max(0, copies - scenario.habits.resend)
        copies = min(copies, scenario.habits.resend)
        for record in flashBefore.records where !left.contains(record.number) {
            if asking.holds(record.bytes) {
                if poll?.other != nil { elsewhere.insert(record.bytes) }
            } else if isSwallowed(record.bytes) {
                swallowedForGood.insert(record.bytes)
            } else {
                fail(.acknowledgedUnstored, "acknowledged before it was journaled: \(hex(record.bytes))")
            }
        }
    }

    mutating func checkEnd() {
        let kept = written.keys.filter {
            !overwritten.contains($0) && !swallowedForGood.contains($0) && !elsewhere.contains($0)
        }
        let entries = journal.entries
        var times: [[UInt8]: Int] = [:]
        var doubted: Set<[UInt8]> = []
        // Cut by the bottle, or by a connection too narrow for them.
        let isPieced = hasHabit { $0.split > 0 } || scenario.polls.contains { $0.link.mtu != nil }
        for entry in entries {
            times[entry.raw, default: 0] += 1
            // Told as what it may be, pieces of two records, and counted nowhere.
            if entry.verdict == .quarantined(reason: JournalDoubt.pieced) { doubted.insert(entry.raw) }
            // Where the same values were lost of two readings, the same pieces came twice; without a possible date they
            // count nowhere either. So do those that say of themselves that they are no drinks.
            guard isPieced, written[entry.raw] == nil else { continue }
            if case .drink = entry.verdict { continue }
            doubted.insert(entry.raw)
        }
        for raw in sorted(doubted.filter { written[$0] != nil && !overwritten.contains($0) }) {
            fail(.unsettled, "still in doubt after six polls in good weather: \(hex(raw))")
        }
        for raw in sorted(kept.filter { times[$0] != 1 }) {
            fail(
                (times[raw] ?? 0) > 1 ? .doubled : .missing,
                "in the journal \(times[raw] ?? 0) times instead of once: \(hex(raw))")
        }
        for raw in sorted(times.keys.filter { written[$0] == nil && !doubted.contains($0) }) {
            fail(.invented, "invented: \(hex(raw))")
        }
        for raw in sorted(times.filter { $0.value > 1 }.map(\.key)) {
            fail(.doubled, "in the journal \(times[raw] ?? 0) times: \(hex(raw))")
        }
        if scenario.isDated { checkFold(entries, times, doubted) } else { checkDays(entries, doubted) }
        if !hasHabit({ $0.resend != 0 || $0.forget != 0 }), !bottle.flash.records.isEmpty {
            fail(
                .unsettled,
                "\(bottle.flash.records.count) records are still in the bottle after six polls in good weather")
        }
        if let last = reports.last, last.failure != nil {
            fail(.unsettled, "the last poll, in good weather, failed: \(last.failure?.description ?? "")")
        }
        checkBroker(entries)
        checkPromise(entries)
    }

    private func sorted(_ records: some Sequence<[UInt8]>) -> [[UInt8]] {
        records.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Whatever the host's clock showed for a while: in the end each sip counts on its true day, or is kept as
    /// doubtful. A record that was read with an untrusted clock gets its date from a later poll that reads it with a
    /// trusted one, unless the ring has lost it by then.
    private mutating func checkDays(_ entries: [JournalEntry], _ doubted: Set<[UInt8]>) {
        for entry in entries where !doubted.contains(entry.raw) {
            guard let sip = written[entry.raw] else { continue }
            let own = (try? DrinkRecord(decoding: entry.raw)).flatMap(instant)
            switch entry.verdict {
            case .drink(let at, _):
                if abs(at.seconds(to: sip.at)) > RecordResolver.aheadSeconds {
                    fail(.misdated, "counts at \(at), drunk at \(sip.at): \(hex(entry.raw))")
                }
            case .quarantined(let reason):
                if sip.hasDate, !overwritten.contains(entry.raw), let own,
                    abs(own.seconds(to: sip.at)) < RecordResolver.aheadSeconds
                {
                    fail(.misdated, "waits (\(reason)) though its date is right: \(hex(entry.raw))")
                }
            case .notADrink:
                break
            }
        }
    }

    /// The truth as the bottle knows it: what it wrote with its clock right, by day, against the fold over the journal.
    private mutating func checkFold(_ entries: [JournalEntry], _ times: [[UInt8]: Int], _ doubted: Set<[UInt8]>) {
        var truth: [LocalDay: Int] = [:]
        let calendar = DayCalendar(zone: scenario.zone)
        // A record that came once, in pieces, and that the ring lost before it could come again, is told as doubtful:
        // nobody can prove it any more.
        for (raw, sip) in written
        where sip.hasDate && times[raw] != nil && !(doubted.contains(raw) && overwritten.contains(raw)) {
            guard let record = try? DrinkRecord(decoding: raw), let instant = instant(record) else { continue }
            truth[calendar.day(of: instant), default: 0] += record.amountMl
        }
        let fold = JournalFold.days(entries, calendar)
        if truth.filter({ $0.value > 0 }) != fold {
            fail(.totals, "totals \(words(fold)) are not the fold over what was drunk, \(words(truth))")
        }
    }

    private func words(_ days: [LocalDay: Int]) -> String {
        days.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value) ml" }.joined(separator: ", ")
    }

    /// What this scenario promises beside.
    private mutating func checkPromise(_ entries: [JournalEntry]) {
        let promise = scenario.promise
        let outcome = outcome(entries)
        func check(_ name: String, _ wanted: Int?, _ found: Int) -> String? {
            guard let wanted, wanted != found else { return nil }
            return "\(name): \(wanted) promised, \(found) found"
        }
        var broken = [
            check("sips", promise.sips, outcome.sips), check("ml", promise.ml, outcome.ml),
            check("doubted", promise.doubted, outcome.doubted),
            check("quarantined", promise.quarantined, outcome.quarantined),
            check("acknowledged", promise.acknowledged, outcome.acknowledged),
            check("lost", promise.lost, outcome.lost), check("elsewhere", promise.elsewhere, outcome.elsewhere),
            check("failed-polls", promise.failedPolls, outcome.failedPolls),
        ]
        broken += promise.days.sorted { $0.key < $1.key }.map {
            check("\($0.key)", $0.value, outcome.days[$0.key] ?? 0)
        }
        broken += promise.told.map {
            outcome.told.contains($0)
                ? nil
                : """
                told: \($0) promised, and told were: \
                \(outcome.told.isEmpty ? "nothing" : outcome.told.joined(separator: ", "))
                """
        }
        for sentence in broken { if let sentence { fail(.promised, sentence) } }
    }

    /// What came of it, by the names of the promises.
    package var outcome: ScenarioOutcome { outcome(journal.entries) }

    private func outcome(_ entries: [JournalEntry]) -> ScenarioOutcome {
        var outcome = ScenarioOutcome()
        for entry in entries {
            switch entry.verdict {
            case .drink:
                outcome.sips += 1
                outcome.ml += entry.amountMl
            case .quarantined: outcome.doubted += 1
            case .notADrink: break
            }
        }
        outcome.days = JournalFold.days(entries, DayCalendar(zone: scenario.zone))
        outcome.quarantined = reports.reduce(0) { $0 + $1.quarantined }
        outcome.acknowledged = reports.reduce(0) { $0 + $1.acknowledged }
        let stored = Set(entries.map(\.raw))
        outcome.lost = overwritten.count { !stored.contains($0) && !elsewhere.contains($0) }
        outcome.elsewhere = elsewhere.count
        outcome.polls = reports.count
        outcome.failedPolls = reports.count { $0.failure != nil }
        if let broker {
            (outcome.heard, outcome.heardAgain) = (broker.ear.first.count, broker.ear.again)
            outcome.isHeardInOrder = broker.ear.firstOutOfOrder == nil
        }
        outcome.told = told.sorted()
        return outcome
    }

    /// By the clock of the zone in which the bottle's was set.
    private func instant(_ record: DrinkRecord) -> Instant? {
        let clock = BottleClock(
            yearByte: UInt8(record.yearByte), month: UInt8(record.month), day: UInt8(record.day),
            hour: UInt8(record.hour),
            minute: UInt8(record.minute), second: UInt8(record.second))
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
