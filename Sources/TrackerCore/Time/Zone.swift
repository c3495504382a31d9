import Foundation
import Synchronization

/// The offsets of one IANA time zone.
///
/// The table of offset changes from 1970 to 2110 is read once from Foundation. `moments(of:)` does not use Foundation,
/// because Foundation moves skipped times to another date. Before and after the table its first and last offsets apply.
package struct Zone: Sendable {
    /// The IANA id: `Europe/Berlin`.
    package let id: String
    /// The start of each offset in seconds UTC, ascending.
    let starts: [Int64]
    /// The offsets in seconds east of UTC.
    let offsets: [Int64]

    /// Throws `UnknownZone` if the time zone database does not have the id.
    package init(_ id: String) throws(UnknownZone) {
        if let known = Self.known.withLock({ $0[id] }) {
            self = known
            return
        }
        guard Self.isZoneName(id), let zone = TimeZone(identifier: id) else { throw UnknownZone(id: id) }
        self.id = id
        var starts = [Int64.min]
        var offsets = [Self.offset(of: zone, at: Self.table.lowerBound)]
        // Since 1970, no zone has changed twice within two days, so the step skips nothing.
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

    /// A cache, because reading a table takes some 20,000 calls of Foundation.
    private static let known = Mutex<[String: Zone]>([:])
    private static let knownLimit = 1024

    private init(fixed id: String, offset: Int64) {
        self.id = id
        starts = [.min]
        offsets = [offset]
    }

    package static let utc = Zone(fixed: "UTC", offset: 0)

    /// The offset at that instant in seconds east of UTC.
    package func offsetSeconds(at instant: Instant) -> Int {
        Int(offsets[period(at: instant.wholeSeconds)])
    }

    /// The local time; fractions of a second are dropped.
    package func wall(at instant: Instant) -> WallTime {
        let seconds = instant.wholeSeconds
        return WallTime(utcSeconds: seconds.saturatingAdd(offsets[period(at: seconds)]))
    }

    /// The instants of a local time; `nil` for impossible fields.
    package func moments(of wall: WallTime) -> WallMoments? {
        guard let local = wall.utcSeconds else { return nil }
        // Offsets are less than a day, so only the adjacent periods can match.
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

    private func period(at seconds: Int64) -> Int {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= seconds { low = middle } else { high = middle }
        }
        return low
    }

    /// The range of the table: 1970-01-01 to 2110-01-01, in seconds since 1970.
    private static let table: ClosedRange<Int64> = 0...4_417_977_600
    private static let step: Int64 = 2 * 86_400

    private static func offset(of zone: TimeZone, at seconds: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(seconds))))
    }

    /// Foundation also accepts abbreviations (`PST`), offsets (`GMT+0200`) and names with a zero byte.
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

/// The instants of a local time: one, two (clock set back), or none (clock set forward).
package enum WallMoments: Hashable, Sendable {
    case once(Instant)
    case repeated(first: Instant, last: Instant)
    /// `shifted`: the time moved forward by the gap. `transition`: the instant of the clock change.
    case skipped(shifted: Instant, transition: Instant)
}

package struct UnknownZone: Problem, Hashable {
    package var id: String
    package var code: String { "unknownZone" }
    package var category: ProblemCategory { .invalid }
    package var sentence: String { "unknown time zone \"\(id)\": expected an IANA name such as Europe/Berlin." }
}
