/// A histogram of response times: quantiles, minimum and maximum, in bounded memory.
///
/// Up to 256 values are stored individually, so quantiles are exact. With more values, buckets are used, 32 per octave,
/// and a quantile has an error of at most 1.6 %. Count, minimum and maximum are always exact.
package struct LatencyHistogram: Sendable, Equatable {
    package private(set) var count = 0
    /// The minimum; `nil` without a value.
    package private(set) var minimum: Duration?
    package private(set) var maximum: Duration?
    /// The values in nanoseconds; empty if there are too many.
    private var exact: [Int64] = []
    private var buckets: [UInt32] = []
    private static let maximumExact = 256
    /// The maximum in nanoseconds, 100 years. Longer times come from damaged captures and count as this.
    private static let longest: Int64 = 3_200_000_000_000_000_000
    /// The maximum relative error of a quantile that is not exact.
    package static let relativeError = 1.0 / 64

    package init() {}

    package var isExact: Bool { buckets.isEmpty }

    package mutating func add(_ latency: Duration) {
        let (seconds, attoseconds) = latency.components
        let nanoseconds =
            seconds >= Self.longest / 1_000_000_000
            ? Self.longest : max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        count += 1
        minimum = min(minimum ?? latency, latency)
        maximum = max(maximum ?? latency, latency)
        if buckets.isEmpty {
            exact.append(nanoseconds)
            guard exact.count > Self.maximumExact else { return }
            for value in exact { addToBucket(value) }
            exact = []
        } else {
            addToBucket(nanoseconds)
        }
    }

    /// The quantile for a share (0–1) of the values, by the nearest-rank method: 0.5 is the median.
    package func quantile(_ share: Double) -> Duration? {
        guard count > 0 else { return nil }
        let rank = min(count, max(1, Int((share * Double(count)).rounded(.up))))
        if buckets.isEmpty {
            let value = exact.sorted()[rank - 1]
            return value < Self.longest ? .nanoseconds(value) : maximum
        }
        var cumulative = 0
        for (index, number) in buckets.enumerated() {
            cumulative += Int(number)
            guard cumulative >= rank else { continue }
            let middle = Duration.nanoseconds(Self.middle(of: index))
            return max(minimum ?? middle, min(maximum ?? middle, middle))
        }
        return maximum
    }

    package var median: Duration? { quantile(0.5) }
    package var percentile95: Duration? { quantile(0.95) }

    private mutating func addToBucket(_ nanoseconds: Int64) {
        let index = Self.index(of: nanoseconds)
        if index >= buckets.count { buckets += [UInt32](repeating: 0, count: index + 1 - buckets.count) }
        if buckets[index] < .max { buckets[index] += 1 }
    }

    /// The bucket of a value. Values below 32 have a bucket each; every further octave has 32.
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
