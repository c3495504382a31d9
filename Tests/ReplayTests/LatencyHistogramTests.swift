import Replay
import Support
import Testing

@Suite struct LatencyHistogramTests {
    private static func exact(_ values: [Int64], _ share: Double) -> Int64 {
        values.sorted()[min(values.count, max(1, Int((share * Double(values.count)).rounded(.up)))) - 1]
    }

    private static func nanoseconds(_ duration: Duration?) -> Int64 {
        duration.map { $0.components.seconds * 1_000_000_000 + $0.components.attoseconds / 1_000_000_000 } ?? -1
    }

    @Test func `an empty histogram has no median`() {
        let histogram = LatencyHistogram()
        #expect(histogram.median == nil && histogram.maximum == nil && histogram.count == 0)
    }

    /// Small counts are exact. Percentiles of large counts are within the documented error. Minimum and maximum are
    /// always exact.
    @Test(arguments: [1, 2, 255, 256, 257, 1000, 20_000], 0..<4)
    func `quantiles have the documented accuracy`(_ count: Int, _ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let values = (0..<count).map { _ in
            Int64.random(in: 0...(Int64(1) << Int64.random(in: 1...50, using: &random)), using: &random)
        }
        var histogram = LatencyHistogram()
        for value in values { histogram.add(.nanoseconds(value)) }
        #expect(histogram.isExact == (count <= 256) && Self.nanoseconds(histogram.minimum) == values.min())
        #expect(Self.nanoseconds(histogram.maximum) == values.max())
        for share in [0.0, 0.25, 0.5, 0.95, 0.99, 1] {
            let right = Double(Self.exact(values, share)), ours = Double(Self.nanoseconds(histogram.quantile(share)))
            let error = histogram.isExact ? 0 : LatencyHistogram.relativeError * right + 1
            #expect(abs(ours - right) <= error, "seed \(seed), \(count) values, share \(share): \(ours) for \(right)")
        }
    }

    @Test func `an extremely long latency is counted`() {
        var histogram = LatencyHistogram()
        for _ in 0..<300 { histogram.add(.seconds(Int64.max / 4)) }
        histogram.add(.zero)
        #expect(
            histogram.maximum == .seconds(Int64.max / 4) && histogram.percentile95 != nil && histogram.minimum == .zero)
    }
}
