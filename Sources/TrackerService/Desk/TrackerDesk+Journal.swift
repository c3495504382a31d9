import Gateway
import Store
import TrackerCore

extension TrackerDesk {
    /// Records that are kept and not counted, and bytes that are no record: at most so many of each.
    package func journal(limit: Int = 100) throws -> JournalReport {
        let junk = try store.quarantineCounts()
        return JournalReport(
            records: try store.doubtfulRecords(limit: limit).map(RecordReport.init),
            junk: try store.quarantinedBytes().prefix(limit).map(JunkReport.init),
            doubts: try store.doubts().map { JournalReport.Doubt(reason: $0.reason, count: $0.count) },
            junkReceived: junk.received, junkNotKept: junk.evicted)
    }

    /// One record with its bytes: `r12`.
    package func record(_ name: String) throws -> RecordReport {
        let digits = name.first == "r" ? name.dropFirst() : Substring(name)
        guard let id = Int64(digits) else {
            throw WrongInput("notARecord", "\"\(name)\" names no record.", values: ["given": name])
        }
        guard let record = try store.journalRecord(id) else {
            throw Refusal("noSuchRecord", "There is no record r\(id).", category: .notFound, values: ["given": name])
        }
        return RecordReport(record)
    }

    /// Reads and dates them again, by the settings and the clock of now. What was counted before keeps its date; a
    /// record read in another dialect changes its own row.
    package func resolveJournal() throws -> ResolveOutcome {
        try change {
            if let newest = try store.newestReceipt(), now.seconds(to: newest) > RecordResolver.aheadSeconds {
                throw Refusal(
                    "clock",
                    """
                    This computer's clock says \(now), but the store has received something at \(newest): nothing \
                    is dated by it.
                    """
                )
            }
            let options = PollOptions(settings: try store.settings().bottle, zone: zone)
            let done = try secondLook(options)
            let resolved = done.count { $0.outcome == .promoted }
            return ResolveOutcome(
                resolved: resolved, changed: done.count - resolved,
                waiting: try store.doubts().reduce(0) { $0 + $1.count }, state: try state())
        }
    }

    /// Dates a record by hand: it counts from then on.
    package func dateRecord(_ name: String, at instant: Instant) throws -> DrinkOutcome {
        try change {
            let drink = try store.dateRecord(try record(name).record.id, at: instant, context)
            return DrinkOutcome(drink: report(drink), state: try state())
        }
    }
}
