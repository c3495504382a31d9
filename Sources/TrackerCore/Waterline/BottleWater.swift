/// A drink from the bottle during a session.
package struct Sip: Hashable, Sendable {
    package var key: String
    package var at: Instant
    package var ml: Int

    package init(key: String, at: Instant, ml: Int) {
        self.key = key
        self.at = at
        self.ml = ml
    }
}

/// The bottle's drinks as water entries (tracker spec X1). Recomputed after each change, to order late records.
package struct BottleWater: Hashable, Sendable {
    package var logs: [LogEntry]
    /// The millilitres that are not enough for a water yet; dropped with the session.
    package var carryMl: Int

    /// - Parameter excluded: the ids of derived entries that the user removed.
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
                carryMl += min(sip.ml, Self.maxSipMl)
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

    /// The maximum amount in millilitres: a record's amount has 16 bits.
    static let maxSipMl = 65_535

    /// The first sequence number of derived entries. It sorts them after logged entries of the same millisecond.
    static let firstSeq = 1 << 40
}
