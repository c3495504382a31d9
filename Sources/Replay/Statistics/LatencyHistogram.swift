/// How long answers took: median, any other share, and the worst, in bounded memory.
///
/// The first 256 values are kept as they are, and shares of them are exact. Of more, values share buckets, 32 an
/// octave: a share is then at most 1.6 % off (half a bucket). Count, best and worst are always exact.
package struct LatencyHistogram: Sendable, Equatable {
    /// Answers that were measured.
    package private(set) var count = 0
    /// `nil` while there is no value.
    package private(set) var best: Duration?
    /// The longest of them; `nil` without any.
    package private(set) var worst: Duration?
    /// In nanoseconds; empty as soon as there are too many.
    private var exact: [Int64] = []
    private var buckets: [UInt32] = []
    private static let mostExact = 256
    /// 100 years are enough, in nanoseconds; longer ones come from damaged times, and stand for the worst.
    private static let longest: Int64 = 3_200_000_000_000_000_000
    /// The largest relative error of a share, where it is not exact.
    package static let relativeError = 1.0 / 64

    /// With nothing measured.
    package init() {}

    /// Whether shares are exact.
    package var isExact: Bool { buckets.isEmpty }

    /// Adds a value. Negative ones are no time that anything took: the caller tells them apart.
    package mutating func add(_ latency: Duration) {
        let (seconds, attoseconds) = latency.components
        let nanoseconds =
            seconds >= Self.longest / 1_000_000_000
            ? Self.longest : max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        count += 1
        best = min(best ?? latency, latency)
        worst = max(worst ?? latency, latency)
        if buckets.isEmpty {
            exact.append(nanoseconds)
            guard exact.count > Self.mostExact else { return }
            for value in exact { put(value) }
            exact = []
        } else {
            put(nanoseconds)
        }
    }

    /// The smallest value that at least this share (0–1) of all values does not exceed (nearest rank).
    package func share(_ share: Double) -> Duration? {
        guard count > 0 else { return nil }
        let rank = min(count, max(1, Int((share * Double(count)).rounded(.up))))
        if buckets.isEmpty {
            let value = exact.sorted()[rank - 1]
            return value < Self.longest ? .nanoseconds(value) : worst
        }
        var below = 0
        for (index, number) in buckets.enumerated() {
            below += Int(number)
            guard below >= rank else { continue }
            let middle = Duration.nanoseconds(Self.middle(of: index))
            return max(best ?? middle, min(worst ?? middle, middle))
        }
        return worst
    }

    /// Half of the values are at most this.
    package var median: Duration? { share(0.5) }
    /// 95 of 100 values are at most this.
    package var share95: Duration? { share(0.95) }

    private mutating func put(_ nanoseconds: Int64) {
        let index = Self.index(of: nanoseconds)
        if index >= buckets.count { buckets += [UInt32](repeating: 0, count: index + 1 - buckets.count) }
        if buckets[index] < .max { buckets[index] += 1 }
    }

    /// Values below 32 have a bucket each; from there every octave has 32.
    private static func index(of value: Int64) -> Int {
        guard value >= 32 else { return Int(max(0, value)) }
        let shift = 58 - value.leadingZeroBitCount
        return shift * 32 + Int(value >> Int64(shift))
    }

    private static func middle(of index: Int) -> Int64 {
        guard index >= 64 else { return Int64(index) }
        let shift = index / 32 - 1
        return Int64(index % 32 + 32) << Int64(shift) + Int64(1) << Int64(shift - 1)
    }
}
