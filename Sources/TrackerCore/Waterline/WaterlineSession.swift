/// A session: from its start until it is ended (tracker spec E2, E3). At most one is active.
package struct WaterlineSession: Hashable, Sendable, Codable, Identifiable {
    /// Made once.
    package var id: String
    /// Whose session it is.
    package var userID: String
    /// When it began.
    package var startTime: Instant
    /// When it ended; `nil` while it is active.
    package var endTime: Instant?
    /// What it came to; `nil` while it is active.
    package var computedSummary: SessionSummary?
    /// N of the rule when the session ended.
    package var ruleN: Int?
    /// Done with: no more edits, although sips that arrive late still recompute the summary.
    package var sealed: Bool

    package init(
        id: String, userID: String, startTime: Instant, endTime: Instant? = nil, computedSummary: SessionSummary? = nil,
        ruleN: Int? = nil, sealed: Bool = false
    ) {
        self.id = id
        self.userID = userID
        self.startTime = startTime
        self.endTime = endTime
        self.computedSummary = computedSummary
        self.ruleN = ruleN
        self.sealed = sealed
    }

    /// Not ended yet.
    package var isActive: Bool { endTime == nil }

    /// Real seconds from start to end, or to now.
    package func elapsed(at now: Instant) -> Double { max(0, startTime.seconds(to: endTime ?? now)) }

    /// Entries may stand between the start and the end, or now.
    package func allows(timestamp: Instant, now: Instant) -> Bool {
        timestamp >= startTime && timestamp <= endTime ?? now
    }

    /// Ends the session; `at` may lie before now (its last entry), never before the start.
    package mutating func end(at instant: Instant, logs: [LogEntry], settings: Settings) {
        endTime = max(startTime, instant)
        ruleN = settings.waterEveryNDrinks
        summarise(logs, warningThreshold: settings.warningThreshold)
    }

    /// Recomputes the summary of an ended session from its entries.
    package mutating func summarise(_ logs: [LogEntry], warningThreshold: Int) {
        guard let endTime else { return }
        computedSummary = SessionSummary(
            logs: logs, start: startTime, end: endTime, everyNDrinks: ruleN ?? 1, warningThreshold: warningThreshold)
    }

    /// Why a change was refused: exit code 3.
    package enum Refusal: String, Problem {
        case noActiveSession
        case sealed
        case derived
        case outsideSession
        case estimate
        case drinkSize
        case drinkStrength

        /// The case's name.
        package var code: String { rawValue }
        /// Always `refused`.
        package var category: ProblemCategory { .refused }
        /// The rule, in a sentence.
        package var sentence: String {
            switch self {
            case .noActiveSession: "There is no active session. Start one first."
            case .sealed: "This session is finished and can no longer be changed."
            case .derived: "This water comes from the bottle's sips: it can be excluded, not edited."
            case .outsideSession: "The time must lie within the session."
            case .estimate: "The estimate must be a number from 0.1 to 10 standard drinks."
            case .drinkSize: "A drink's or a water's size must be more than 0 and at most 100 oz."
            case .drinkStrength: "A drink's strength must be 0 to 100 percent by volume."
            }
        }
    }

    /// Whether an entry of this session may be changed to that time.
    package func checkEdit(_ log: LogEntry, now: Instant) throws(Refusal) {
        if sealed { throw .sealed }
        if log.source == .bottle { throw .derived }
        if !allows(timestamp: log.timestamp, now: now) { throw .outsideSession }
        if log.kind == .alcohol, let estimate = log.standardDrinkEstimate, !StandardDrinks.range.contains(estimate) {
            throw .estimate
        }
        for size in [log.sizeOz, log.amountOz] {
            if let size, !(size > 0 && size <= 100) { throw .drinkSize }
        }
        if let strength = log.abv, !(0...100).contains(strength) { throw .drinkStrength }
    }
}

/// What a session came to (tracker spec E6).
package struct SessionSummary: Hashable, Sendable, Codable {
    /// Entries with alcohol.
    package var drinks: Int
    /// Sum of the estimates.
    package var standardDrinks: Double
    /// Entries of water.
    package var waters: Int
    /// Their volume in US fluid ounces.
    package var waterOz: Double
    /// Real seconds.
    package var durationSeconds: Double
    /// `nil` when there was no chance to keep the rule.
    package var adherencePercent: Int?
    /// The engine's value at the end; may be negative.
    package var finalValue: Double

    /// From the entries of a session that ran from `start` to `end`.
    package init(logs: [LogEntry], start: Instant, end: Instant, everyNDrinks: Int, warningThreshold: Int) {
        let state = WaterlineState.computeState(logs, warningThreshold: warningThreshold)
        let kinds = logs.sorted(by: WaterlineState.isEarlier).map(\.kind)
        drinks = state.drinks
        standardDrinks = state.standardDrinks
        waters = state.waters
        waterOz = logs.reduce(0) { $0 + ($1.kind == .water ? $1.amountOz ?? 0 : 0) }
        durationSeconds = max(0, start.seconds(to: end))
        adherencePercent = Adherence(kinds, everyNDrinks: everyNDrinks).percent
        finalValue = state.value
    }

    /// `3h 25m`.
    package var durationText: String { Self.text(durationSeconds) }

    enum CodingKeys: String, CodingKey {
        case drinks, standardDrinks, waters, waterOz, durationSeconds, adherencePercent, finalValue
    }

    /// `null` where there was no chance to keep the rule.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(drinks, forKey: .drinks)
        try container.encode(standardDrinks, forKey: .standardDrinks)
        try container.encode(waters, forKey: .waters)
        try container.encode(waterOz, forKey: .waterOz)
        try container.encode(durationSeconds, forKey: .durationSeconds)
        try container.encode(adherencePercent, forKey: .adherencePercent)
        try container.encode(finalValue, forKey: .finalValue)
    }

    /// `3h 25m`; under an hour `25m`, under a minute `0m`.
    package static func text(_ seconds: Double) -> String {
        let minutes = seconds.isFinite ? Int(min(max(0, seconds), 1e12)) / 60 : 0
        return minutes >= 60 ? "\(minutes / 60)h \(minutes % 60)m" : "\(minutes)m"
    }
}
