import Foundation
import Synchronization

/// The rules of one IANA time zone: which offset from UTC holds when.
///
/// The table of offset changes from 1970 to 2110 is read once, by asking Foundation for the offset and nothing else;
/// the way from wall clock to instant is ours, because Foundation's own moves times that a change of clocks skips to
/// another date. Before and after the table its first and last offsets hold.
package struct Zone: Sendable {
    /// The IANA id, as given: `Europe/Berlin`.
    package let id: String
    /// Since when (seconds UTC) each offset holds, ascending; the first is the beginning of time.
    let starts: [Int64]
    /// Seconds east of UTC.
    let offsets: [Int64]

    /// Throws `UnknownZone` where the time zone database has no such id.
    package init(_ id: String) throws(UnknownZone) {
        if let known = Self.known.withLock({ $0[id] }) {
            self = known
            return
        }
        guard Self.isZoneName(id), let zone = TimeZone(identifier: id) else { throw UnknownZone(id: id) }
        self.id = id
        var starts = [Int64.min]
        var offsets = [Self.offset(of: zone, at: Self.table.lowerBound)]
        // No zone has changed twice within two days since 1970: a step may hide nothing.
        for end in stride(from: Self.table.lowerBound + Self.step, through: Self.table.upperBound, by: Int(Self.step)) {
            let offset = Self.offset(of: zone, at: end)
            guard offset != offsets[offsets.count - 1] else { continue }
            var before = end - Self.step
            var after = end
            while after - before > 1 {
                let middle = before + (after - before) / 2
                if Self.offset(of: zone, at: middle) == offset { after = middle } else { before = middle }
            }
            starts.append(after)
            offsets.append(offset)
        }
        self.starts = starts
        self.offsets = offsets
        let new = self
        Self.known.withLock { known in
            if known.count == Self.knownLimit { known.removeAll() }
            known[id] = new
        }
    }

    /// Tables that were read already: each asks Foundation some twenty thousand times.
    private static let known = Mutex<[String: Zone]>([:])
    /// There are some 600 names.
    private static let knownLimit = 1024

    /// Whether the time zone database has such an id; no table is read.
    package static func isKnown(_ id: String) -> Bool {
        known.withLock { $0[id] } != nil || isZoneName(id) && TimeZone(identifier: id) != nil
    }

    private init(fixed id: String, offset: Int64) {
        self.id = id
        starts = [.min]
        offsets = [offset]
    }

    /// UTC, without any rules to read.
    package static let utc = Zone(fixed: "UTC", offset: 0)

    /// Seconds east of UTC at that instant.
    package func offsetSeconds(at instant: Instant) -> Int {
        Int(offsets[period(at: instant.wholeSeconds)])
    }

    /// What a clock on the wall shows; parts of a second are dropped.
    package func wall(at instant: Instant) -> WallTime {
        let seconds = instant.wholeSeconds
        return WallTime(secondsAsUTC: seconds.saturatingAdd(offsets[period(at: seconds)]))
    }

    /// When a clock on the wall shows this; `nil` where the fields are no date or no time.
    package func moments(of wall: WallTime) -> WallMoments? {
        guard let local = wall.secondsAsUTC else { return nil }
        // Offsets lie within a day of UTC, so only the periods around can show this time.
        var index = period(at: local - 86_400)
        var found: [Int64] = []
        var gap: (shifted: Int64, transition: Int64)?
        while index < starts.count, index == 0 || starts[index] <= local + 86_400 {
            let instant = local - offsets[index]
            let end = index + 1 < starts.count ? starts[index + 1] : Int64.max
            if instant >= starts[index], instant < end {
                found.append(instant)
            } else if instant >= end, local - offsets[index + 1] < end {
                gap = (instant, end)
            }
            index += 1
        }
        if let first = found.first {
            guard found.count > 1, let last = found.last else { return .once(Instant(seconds: first)) }
            return .repeated(first: Instant(seconds: first), last: Instant(seconds: last))
        }
        guard let gap else { return nil }
        return .skipped(shifted: Instant(seconds: gap.shifted), transition: Instant(seconds: gap.transition))
    }

    /// The index of the offset that holds at that second.
    private func period(at seconds: Int64) -> Int {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= seconds { low = middle } else { high = middle }
        }
        return low
    }

    /// 1970-01-01 to 2110-01-01.
    private static let table: ClosedRange<Int64> = 0...4_417_977_600
    private static let step: Int64 = 2 * 86_400

    private static func offset(of zone: TimeZone, at seconds: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(seconds))))
    }

    /// Foundation also takes abbreviations (`PST`), offsets (`GMT+0200`) and names cut at a zero, which are no IANA
    /// ids.
    private static func isZoneName(_ id: String) -> Bool {
        guard id.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else { return false }
        if TimeZone.abbreviationDictionary[id] != nil {
            return ["CET", "EET", "EST", "GMT", "HST", "MET", "MST", "UTC", "WET"].contains(id)
        }
        guard id.hasPrefix("GMT") || id.hasPrefix("UTC") else { return true }
        return ["GMT", "GMT0", "GMT+0", "GMT-0", "UTC"].contains(id)
    }
}

extension Zone: Hashable {
    package static func == (left: Zone, right: Zone) -> Bool { left.id == right.id }
    package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// When a wall clock shows a time: once, twice (clocks went back), or never (clocks went forward).
package enum WallMoments: Hashable, Sendable {
    case once(Instant)
    case repeated(first: Instant, last: Instant)
    /// `shifted`: the time moved forward by the gap. `transition`: the instant at which clocks went forward.
    case skipped(shifted: Instant, transition: Instant)
}

/// An id that the time zone database does not know.
package struct UnknownZone: Problem, Hashable {
    /// What was given.
    package var id: String
    /// Always `unknownZone`.
    package var code: String { "unknownZone" }
    /// Always `invalid`.
    package var category: ProblemCategory { .invalid }
    /// What was given, and what would do.
    package var sentence: String { "There is no time zone named \"\(id)\". Use an IANA name such as Europe/Berlin." }
}
