/// From a record's wall clock to an instant (tracker spec A2). A record has no zone, and in the `strict` dialect no
/// year.
package struct RecordResolver: Sendable {
    /// The bottle's zone.
    package var zone: Zone
    /// Older than this many days of 86,400 s is implausible; 1–360.
    package var maxAgeDays: Int

    package init(zone: Zone, maxAgeDays: Int = 180) {
        self.zone = zone
        self.maxAgeDays = maxAgeDays
    }

    /// What else is known, beside the record, when a wall time occurs twice.
    package struct Evidence: Hashable, Sendable {
        /// Instant of the record before this one in the same response.
        package var previous: Instant?
        /// End of this bottle's last successful poll, where that poll did not return this record.
        package var lastPollWithoutIt: Instant?

        package init(previous: Instant? = nil, lastPollWithoutIt: Instant? = nil) {
            self.previous = previous
            self.lastPollWithoutIt = lastPollWithoutIt
        }
    }

    /// Which rule dated a record: `-` where the wall time is unique.
    package enum Rule: String, Hashable, Sendable {
        case unique = "-"
        /// The wall time was skipped by a change of clocks; moved forward by the gap.
        case gap
        /// The second pass lies more than five minutes ahead of us: the first.
        case R1
        /// The record before it is later than the first pass: the second.
        case R2
        /// A poll after the first pass did not return it: the second.
        case R3
        /// No evidence: the first.
        case R4
    }

    /// Why a record is kept but not counted.
    package enum Doubt: String, Hashable, Sendable {
        /// No calendar has this date, or no clock this time.
        case impossibleDate
        /// The record's own year is none of 2015–2099.
        case implausibleYear
        /// More than 26 h ahead of us, or too old, or no year fits.
        case implausibleTimestamp
    }

    /// What a record was dated to, by which rule, and whether it counts.
    package struct Resolution: Hashable, Sendable {
        /// The record's own fields with the year found: what identifies the drink. `nil` where no year fits.
        package var wall: WallTime?
        /// When it was; `nil` where no year fits.
        package var instant: Instant?
        /// Which rule chose among several instants.
        package var rule: Rule
        /// `nil`: the record counts.
        package var doubt: Doubt?
    }

    /// Dates one record that was received at `received`. The first resolution that is stored is final (A2.5): the
    /// caller asks again only for records that it quarantined.
    package func resolve(_ fields: RecordFields, received: Instant, evidence: Evidence = Evidence()) -> Resolution {
        guard fields.isPossibleInSomeYear else { return doubtful(.impossibleDate) }
        let found: Resolution
        if let year = fields.year {
            let wall = fields.wall(year: year)
            guard wall.isPossible else { return doubtful(.impossibleDate) }
            guard Self.plausibleYears.contains(year) else { return doubtful(.implausibleYear, wall) }
            guard let dated = date(wall, received: received, evidence: evidence) else {
                return doubtful(.implausibleTimestamp, wall)
            }
            found = dated
        } else {
            guard let dated = latest(fields, received: received, evidence: evidence) else {
                return doubtful(.implausibleTimestamp)
            }
            found = dated
        }
        guard let instant = found.instant else { return found }
        let age = instant.seconds(to: received)
        guard age >= -Self.aheadSeconds, age <= Double(maxAgeDays) * 86_400 else {
            return Resolution(wall: found.wall, instant: instant, rule: found.rule, doubt: .implausibleTimestamp)
        }
        return found
    }

    /// Dates the records of one response, oldest first as bottles send them: each has the one before it as evidence.
    /// `lastPollWithout` says, record by record, which poll lacked it.
    package func resolve(
        response: [RecordFields], received: Instant, lastPollWithout: (Int) -> Instant?
    ) -> [Resolution] {
        var previous: Instant?
        return response.enumerated().map { index, fields in
            let evidence = Evidence(previous: previous, lastPollWithoutIt: lastPollWithout(index))
            let resolution = resolve(fields, received: received, evidence: evidence)
            previous = resolution.instant ?? previous
            return resolution
        }
    }

    /// The latest year, from the one after the receiving clock's downwards, in which the date exists and is at most
    /// 26 h ahead. Leap days are at most eight years apart.
    private func latest(_ fields: RecordFields, received: Instant, evidence: Evidence) -> Resolution? {
        let newest = zone.wall(at: received).year + 1
        for year in stride(from: newest, through: newest - 9, by: -1) {
            let wall = fields.wall(year: year)
            guard wall.isPossible, let found = date(wall, received: received, evidence: evidence),
                let instant = found.instant,
                received.seconds(to: instant) <= Self.aheadSeconds
            else { continue }
            return found
        }
        return nil
    }

    private func date(_ wall: WallTime, received: Instant, evidence: Evidence) -> Resolution? {
        switch zone.moments(of: wall) {
        case nil: return nil
        case .once(let instant): return Resolution(wall: wall, instant: instant, rule: .unique)
        case .skipped(let shifted, _): return Resolution(wall: wall, instant: shifted, rule: .gap)
        case .repeated(let first, let last):
            if received.seconds(to: last) > 300 { return Resolution(wall: wall, instant: first, rule: .R1) }
            if let previous = evidence.previous, previous > first {
                return Resolution(wall: wall, instant: last, rule: .R2)
            }
            if let poll = evidence.lastPollWithoutIt, first.seconds(to: poll) >= 300 {
                return Resolution(wall: wall, instant: last, rule: .R3)
            }
            return Resolution(wall: wall, instant: first, rule: .R4)
        }
    }

    private func doubtful(_ doubt: Doubt, _ wall: WallTime? = nil) -> Resolution {
        Resolution(wall: wall, instant: nil, rule: .unique, doubt: doubt)
    }

    /// Years that a bottle's clock may say (protocol spec P3).
    package static let plausibleYears = 2015...2099
    /// A record may be this far ahead of the receiving clock: the farthest that two right clocks are apart, in the
    /// zones with the largest and the smallest offset.
    package static let aheadSeconds: Double = 26 * 3600
}

extension RecordResolver.Resolution {
    /// What the journal keeps: a drink, an entry that is none (`isDrink` false, or 0 ml), or a quarantined one.
    package func verdict(amountMl: Int, isDrink: Bool, zone: Zone) -> JournalEntry.Verdict {
        if let doubt { return .quarantined(reason: doubt.rawValue) }
        guard isDrink else { return .notADrink(reason: "flag") }
        guard amountMl > 0 else { return .notADrink(reason: "zero") }
        guard let instant else { return .quarantined(reason: RecordResolver.Doubt.implausibleTimestamp.rawValue) }
        return .drink(at: instant, zone: zone.id)
    }
}

/// What a record says about its time: a wall clock, with its year where the dialect has one.
package struct RecordFields: Hashable, Sendable {
    /// The record's own year (`calendar` dialect), or `nil` (`strict`).
    package var year: Int?
    /// 1–12 where the date is possible.
    package var month: Int
    /// 1–31 where the date is possible.
    package var day: Int
    /// 0–23 where the time is possible.
    package var hour: Int
    /// 0–59 where the time is possible.
    package var minute: Int
    /// 0–59 where the time is possible.
    package var second: Int

    package init(year: Int?, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The fields could be a date and a time, 29 February included.
    package var isPossibleInSomeYear: Bool { wall(year: 2000).isPossible }

    func wall(year: Int) -> WallTime {
        WallTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}
