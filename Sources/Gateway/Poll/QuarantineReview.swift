package import TrackerCore

/// Decodes and dates stored records again, if they have no date or were read in another dialect. A record whose date
/// requires a correct clock is left to the next poll that reads it.
package enum QuarantineReview {
    /// The maximum number of records per call of the journal.
    static let pageSize = 500

    /// Reviews the stored records of the bottles.
    /// - Returns: the records whose values or date changed, with the journal's outcome. A `promoted` record has a date.
    package static func run(_ journal: any Journal, bottles: [String], options: PollOptions, now: Instant) throws -> [(
        entry: JournalEntry, outcome: JournalOutcome
    )] {
        var changes: [(entry: JournalEntry, outcome: JournalOutcome)] = []
        for bottle in bottles {
            var last: Int64 = 0
            while true {
                let rows = try journal.reviewableRecords(
                    of: bottle, reading: options.reading, after: last, limit: pageSize)
                let entries = rows.compactMap { entry($0, bottle, options) }
                changes += zip(entries, try journal.append(entries)).map { (entry: $0, outcome: $1) }
                guard rows.count == pageSize, let end = rows.last else { break }
                last = end.id
            }
        }
        return changes
    }

    private static func entry(_ row: ReviewableRecord, _ bottle: String, _ options: PollOptions) -> JournalEntry? {
        guard
            ![JournalQuarantine.fragmented, JournalQuarantine.hostClock, JournalQuarantine.bottleClock].contains(
                row.quarantineReason)
        else {
            return nil
        }
        var dates = RecordDates(bottle: bottle, options: options, received: row.received, trust: .plausible)
        let entry = dates.entry(row.raw)
        if case .quarantined(let reason) = entry.verdict, row.quarantineReason == nil || row.quarantineReason == reason
        {
            return nil
        }
        return entry
    }
}
