/// A session from start to end (tracker spec E2, E3, E6). At most one is active.
package struct WaterlineSession: Hashable, Sendable, Codable, Identifiable {
    package var id: String
    package var userID: String
    package var startTime: Instant
    /// The end; `nil` while the session is active.
    package var endTime: Instant?
    package var computedSummary: SessionSummary?
    /// N of the rule "water every N drinks", fixed at the end of the session.
    package var ruleN: Int?
    /// Whether edits are rejected. Late records of the bottle still change the summary.
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

    package var isActive: Bool { endTime == nil }

    /// Elapsed seconds to the end, or to now.
    package func elapsed(at now: Instant) -> Double { max(0, startTime.seconds(to: endTime ?? now)) }

    /// Whether an entry of the session can have that time.
    package func allows(timestamp: Instant, now: Instant) -> Bool {
        timestamp >= startTime && timestamp <= endTime ?? now
    }

    /// Ends the session at a time that can be before now (its last entry), but not before the start.
    package mutating func end(at instant: Instant, logs: [LogEntry], settings: Settings) {
        endTime = max(startTime, instant)
        ruleN = settings.waterEveryNDrinks
        summarise(logs, warningThreshold: settings.warningThreshold)
    }

    package mutating func summarise(_ logs: [LogEntry], warningThreshold: Int) {
        guard let endTime else { return }
        computedSummary = SessionSummary(
            logs: logs, start: startTime, end: endTime, everyNDrinks: ruleN ?? 1, warningThreshold: warningThreshold)
    }

    package enum Refusal: String, Problem {
        case noActiveSession
        case sealed
        case derived
        case outsideSession
        case estimate
        case drinkSize
        case drinkStrength

        package var code: String { rawValue }
        package var category: ProblemCategory { .refused }
        package var sentence: String {
            switch self {
            case .noActiveSession: "There is no active session. Start one first."
            case .sealed: "This session is finished and can no longer be changed."
            case .derived: "This water comes from the bottle's sips: it can be excluded, not edited."
            case .outsideSession: "The time must be within the session."
            case .estimate: "The estimate must be a number from 0.1 to 10 standard drinks."
            case .drinkSize: "A drink's or a water's size must be more than 0 and at most 100 oz."
            case .drinkStrength: "A drink's strength must be 0 to 100 percent by volume."
            }
        }
    }

    /// Throws if an entry of this session cannot be changed to that time.
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

/// The totals of an ended session.
package struct SessionSummary: Hashable, Sendable, Codable {
    package var drinks: Int
    /// The sum of the estimates in standard drinks.
    package var standardDrinks: Double
    package var waters: Int
    /// The volume of the waters in US fluid ounces.
    package var waterOz: Double
    package var durationSeconds: Double
    /// The adherence to "water every N drinks" in percent; `nil` if no water was due and none followed a drink.
    package var adherencePercent: Int?
    /// The engine's value at the end; can be negative.
    package var finalValue: Double

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

    package var durationText: String { Self.text(durationSeconds) }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "drinks": drinks, "standardDrinks": standardDrinks, "waters": waters, "waterOz": waterOz,
            "durationSeconds": durationSeconds, "adherencePercent": adherencePercent, "finalValue": finalValue,
        ])
    }

    /// A duration: `3h 25m`; under an hour `25m`, under a minute `0m`.
    package static func text(_ seconds: Double) -> String {
        let minutes = seconds.isFinite ? Int(min(max(0, seconds), 1e12)) / 60 : 0
        return minutes >= 60 ? "\(minutes / 60)h \(minutes % 60)m" : "\(minutes)m"
    }
}
