/// Converts the wall-clock time of a record to an instant (tracker spec A2). A record has no time zone, and in the
/// `strict` dialect no year.
package struct RecordResolver: Sendable {
    package var zone: Zone
    /// The maximum age of a record in days of 86,400 s (1–360).
    package var maxAgeDays: Int

    package init(zone: Zone, maxAgeDays: Int = 180) {
        self.zone = zone
        self.maxAgeDays = maxAgeDays
    }

    /// Further facts for a wall-clock time that occurs twice.
    package struct Evidence: Hashable, Sendable {
        /// The instant of the previous record in the same response.
        package var previous: Instant?
        /// The end of this bottle's last successful poll, if that poll did not return this record.
        package var lastPollWithoutIt: Instant?

        package init(previous: Instant? = nil, lastPollWithoutIt: Instant? = nil) {
            self.previous = previous
            self.lastPollWithoutIt = lastPollWithoutIt
        }
    }

    /// The rule that dated a record: `-` if the wall-clock time is unique.
    package enum Rule: String, Hashable, Sendable {
        case unique = "-"
        /// The time was skipped by a clock change and is moved forward by the gap.
        case gap
        /// A time that occurs twice: the second one is more than five minutes in the future, so the first is used.
        case R1
        /// A time that occurs twice: the previous record is later than the first one, so the second is used.
        case R2
        /// A time that occurs twice: a poll after the first one did not return the record, so the second is used.
        case R3
        /// A time that occurs twice: nothing indicates the second one, so the first is used.
        case R4
    }

    /// The reason why a record is stored but not counted.
    package enum QuarantineReason: String, Hashable, Sendable {
        /// The date or time does not exist.
        case impossibleDate
        /// The record's year is not in 2015–2099.
        case implausibleYear
        /// The record is more than 26 h in the future or too old, or no year fits.
        case implausibleTimestamp
    }

    /// The date of a record, the rule that determined it, and whether the record counts.
    package struct Resolution: Hashable, Sendable {
        /// The record's fields with the resolved year, which identify the drink; `nil` if no year fits.
        package var wall: WallTime?
        /// The instant; `nil` if no year fits.
        package var instant: Instant?
        package var rule: Rule
        /// The reason not to count the record; `nil` if the record counts.
        package var quarantineReason: QuarantineReason?
    }

    /// Dates one record that was received at `received`. The first stored date is final (A2.5), so the caller only
    /// dates new and quarantined records.
    /// - Parameters:
    ///   - wall: the fields of the record, not validated.
    ///   - hasYear: `false` in the `strict` dialect. The year of `wall` is then ignored.
    package func resolve(
        _ wall: WallTime, hasYear: Bool, received: Instant, evidence: Evidence = Evidence()
    ) -> Resolution {
        // 2000 is a leap year: it has every date that exists in some year.
        guard (hasYear ? wall : wall.inYear(2000)).isPossible else { return unresolved(.impossibleDate) }
        if hasYear, !Self.plausibleYears.contains(wall.year) { return unresolved(.implausibleYear, wall) }
        let dated =
            hasYear
            ? date(wall, received: received, evidence: evidence) : latest(wall, received: received, evidence: evidence)
        guard var found = dated, let instant = found.instant else {
            return unresolved(.implausibleTimestamp, hasYear ? wall : nil)
        }
        let age = instant.seconds(to: received)
        if age < -Self.maxLeadSeconds || age > Double(maxAgeDays) * 86_400 {
            found.quarantineReason = .implausibleTimestamp
        }
        return found
    }

    /// The latest year, from the one after the receiving clock's backwards, in which the date exists and is at most 26
    /// h in the future. Leap days are at most eight years apart.
    private func latest(_ fields: WallTime, received: Instant, evidence: Evidence) -> Resolution? {
        let newest = zone.wall(at: received).year + 1
        for year in stride(from: newest, through: newest - 9, by: -1) {
            let wall = fields.inYear(year)
            guard wall.isPossible, let found = date(wall, received: received, evidence: evidence),
                let instant = found.instant,
                received.seconds(to: instant) <= Self.maxLeadSeconds
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

    private func unresolved(_ reason: QuarantineReason, _ wall: WallTime? = nil) -> Resolution {
        Resolution(wall: wall, instant: nil, rule: .unique, quarantineReason: reason)
    }

    /// The plausible years of a bottle's clock (protocol spec P3).
    package static let plausibleYears = 2015...2099
    /// The maximum lead of a record over the receiving clock in seconds: the difference between the extreme time zones.
    package static let maxLeadSeconds: Double = 26 * 3600
}

extension RecordResolver.Resolution {
    /// The verdict for the journal: a drink, a record that is not a drink (`isDrink` is false, or 0 ml), or quarantine.
    package func verdict(amountMl: Int, isDrink: Bool, zone: Zone) -> JournalEntry.Verdict {
        if let quarantineReason { return .quarantined(reason: quarantineReason.rawValue) }
        guard isDrink else { return .notADrink(reason: "flag") }
        guard amountMl > 0 else { return .notADrink(reason: "zero") }
        guard let instant else {
            return .quarantined(reason: RecordResolver.QuarantineReason.implausibleTimestamp.rawValue)
        }
        return .drink(at: instant, zone: zone.id)
    }
}

extension WallTime {
    fileprivate func inYear(_ year: Int) -> WallTime {
        var wall = self
        wall.year = year
        return wall
    }
}
