/// A bottle's sip within a session.
package struct Sip: Hashable, Sendable {
    /// The drink's key.
    package var key: String
    /// When it was drunk.
    package var at: Instant
    /// How much.
    package var ml: Int

    package init(key: String, at: Instant, ml: Int) {
        self.key = key
        self.at = at
        self.ml = ml
    }
}

/// Bottle sips as water entries (tracker spec X1): a pure function of the sips, recomputed at each ingest, so that late
/// and out-of-order records land in place.
package struct BottleWater: Hashable, Sendable {
    /// Entries made of the sips, by time.
    package var logs: [LogEntry]
    /// Ml still short of the next water; dies with the session.
    package var carryMl: Int

    /// - Parameter excluded: ids of derived entries that a person took out.
    package init(
        sips: [Sip], session: WaterlineSession, now: Instant, mode: BottleWaterMode, defaultWaterOz: Int,
        excluded: Set<String> = []
    ) {
        logs = []
        carryMl = 0
        let amountMl = max(1, Ounces.millilitres(Double(defaultWaterOz)))
        let within = sips.filter { $0.ml > 0 && session.allows(timestamp: $0.at, now: now) }
        for sip in within.sorted(by: { ($0.at, $0.key) < ($1.at, $1.key) }) {
            switch mode {
            case .off: break
            case .perSip: add(sip, 0, oz: Double(sip.ml) / Ounces.mlPerOunce, session, excluded)
            case .accumulate:
                carryMl += min(sip.ml, Self.largestSipMl)
                var index = 0
                while carryMl >= amountMl {
                    carryMl -= amountMl
                    add(sip, index, oz: Double(defaultWaterOz), session, excluded)
                    index += 1
                }
            }
        }
    }

    private mutating func add(
        _ sip: Sip, _ index: Int, oz: Double, _ session: WaterlineSession, _ excluded: Set<String>
    ) {
        let id = "\(session.id)|\(sip.key)" + (index == 0 ? "" : "|\(index)")
        guard !excluded.contains(id) else { return }
        logs.append(
            LogEntry(
                id: id, sessionID: session.id, timestamp: sip.at, kind: .water, amountOz: oz, source: .bottle,
                updatedAt: sip.at, seq: Self.firstSeq + logs.count))
    }

    /// A record's amount has 16 bits: no sip is larger.
    static let largestSipMl = 65_535

    /// Derived entries come after entered ones of the same millisecond.
    static let firstSeq = 1 << 40
}
