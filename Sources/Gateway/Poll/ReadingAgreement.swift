import BottleProtocol

/// Compares the whole readings of one connection, to find the records that each of the last readings contains.
struct ReadingAgreement: Hashable, Sendable {
    /// The readings that agree, latest last. Each has the records of the log, oldest first.
    private var readings: [[DrinkRecord]] = []

    var count: Int { readings.count }

    /// Adds a whole reading. Returns `false`, and discards all readings, if it contradicts the previous one: a log only
    /// loses its oldest records and gains new ones.
    mutating func add(_ reading: [DrinkRecord]) -> Bool {
        if let before = readings.last, !Self.follows(reading, before) {
            readings = []
            return false
        }
        readings.append(reading)
        return true
    }

    mutating func discard() { readings = [] }

    /// The number of records at the start of the latest reading that the last `needed` readings all contain.
    func agreedCount(of needed: Int) -> Int {
        guard readings.count >= needed, let latest = readings.last else { return 0 }
        return readings.suffix(needed).dropLast().map { reading in
            let known = Set(reading)
            return latest.prefix { known.contains($0) }.count
        }.min() ?? latest.count
    }

    /// The smallest size of the last `needed` readings; `nil` if there are fewer readings.
    func size(of needed: Int) -> Int? {
        readings.count < needed ? nil : readings.suffix(needed).map(\.count).min()
    }

    /// Returns the number of records to acknowledge.
    ///
    /// A full ring loses its oldest record with each new drink, and some bottles delete the records that are oldest
    /// when the acknowledgement arrives. So the result omits one record for each drink since the request, unless the
    /// ring has room for it.
    /// - Parameters:
    ///   - drinks: the number of drinks that the bottle can have recorded since the request was written.
    ///   - ring: the number of records for which the bottle's ring is known to have room.
    func acknowledgeable(of needed: Int, drinks: Int, ring: Int) -> Int {
        guard let latest = readings.last else { return 0 }
        let omitted = min(max(0, latest.count + drinks - max(ring, latest.count)), latest.count / 2)
        return max(0, agreedCount(of: needed) - omitted)
    }

    private static func follows(_ reading: [DrinkRecord], _ before: [DrinkRecord]) -> Bool {
        guard let first = reading.first else { return before.isEmpty }
        guard !before.isEmpty else { return true }
        guard let start = before.firstIndex(of: first) else { return false }
        return before[start...].elementsEqual(reading.prefix(before.count - start))
    }
}
