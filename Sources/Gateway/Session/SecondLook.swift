import TrackerCore

extension PollOptions {
    /// What counts later than this cannot have been drunk, where a time server or a person says that this clock is
    /// right.
    func aheadLimit(_ host: ClockMark) -> Instant? {
        trustsClock || host.isSynchronized == true ? host.wall.advanced(seconds: HostClock.tolerance) : nil
    }
}

/// What is stored without a date, or read in another dialect, is read and dated again: at each poll, when the clock has
/// jumped, and when a person asks (tracker law A2, rule 4).
package enum SecondLook {
    /// Records that are looked at in one go.
    static let page = 500

    /// The records that come out otherwise than they stand in the store.
    static func entries(_ rows: [UnsettledRecord], _ dating: RecordDating) -> [JournalEntry] {
        rows.compactMap { row in
            // Only the bottle can say whether that is a record.
            if row.doubt == JournalDoubt.pieced { return nil }
            guard let entry = dating.dateAgain(row) else { return nil }
            if case .quarantined(let reason) = entry.verdict, let doubt = row.doubt {
                // Of what waits for this computer's clock, only that the bottle's was wrong is news.
                if doubt == reason || doubt == JournalDoubt.hostClock && reason != JournalDoubt.bottleClock {
                    return nil
                }
            }
            return entry
        }
    }

    /// Whether this computer's clock may date anything where no bottle is there to compare it with: it goes on from one
    /// that was believed, or a time server vouches for it.
    static func mayDate(_ host: ClockMark, _ memory: BottleMemory) -> Bool {
        if host.isSynchronized == true { return true }
        guard let newest = memory.newestReceipt else { return false }
        if let step = (memory.witness ?? memory.receiptClock)?.step(to: host) {
            return abs(step) <= HostClock.tolerance
        }
        // Over a restart nobody knows how much time has passed: far ahead is as doubtful as behind.
        return abs(host.wall.seconds(to: newest)) <= HostClock.tolerance
    }

    /// Drinks that counted ahead of a clock that is vouched for.
    static func tell(_ withdrawn: Int, _ work: inout PollWork) {
        guard withdrawn > 0 else { return }
        work.say(
            .warning,
            """
            \(counted(withdrawn, "drink")) counted ahead of now, and nobody knows when that was: they count \
            nowhere, until a person dates them.
            """
        )
    }

    /// Looks again at all records of some bottles. Where it is known whose clock this is (`PollOptions.host`), only if
    /// that clock may date them.
    /// - Returns: what was looked at, with what became of it: `promoted` are those that have a date now.
    package static func run(_ journal: any Journal, bottles: [String], options: PollOptions, now: Instant) throws -> [(
        entry: JournalEntry, outcome: JournalOutcome
    )] {
        var done: [(entry: JournalEntry, outcome: JournalOutcome)] = []
        for bottle in bottles {
            var last: Int64 = 0
            let memory = try journal.recall(BottleNames(bottle))
            if let host = options.host, !mayDate(host, memory) { continue }
            let years =
                options.host.map {
                    YearTeller(
                        $0, isWitnessed: options.trustsClock || HostClock.isWitnessed($0, drift: nil, memory), memory)
                } ?? .notAsked
            let echoes = BottleEcho.found(
                in: memory.clockSettings, host: (options.host ?? ClockMark(wall: now)).shown(in: options.zone),
                drift: nil
            ) {
                !years.isAgreed && HostClock.isVouched($0, memory)
            }
            let ahead = options.host.flatMap(options.aheadLimit)
            while true {
                let rows = try journal.unsettled(
                    of: bottle, reading: options.reading, since: nil, openYears: years.isAgreed, ahead: ahead,
                    after: last, limit: page)
                let entries = entries(
                    rows, RecordDating(bottle: bottle, options: options, received: now, echoes: echoes, years: years))
                done += zip(entries, try journal.append(entries)).map { (entry: $0, outcome: $1) }
                guard rows.count == page, let end = rows.last else { break }
                last = end.id
            }
        }
        return done
    }
}
