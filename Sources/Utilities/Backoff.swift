/// Exponential backoff with jitter.
package struct Backoff: Hashable, Sendable {
    /// The maximum wait after the first failure.
    package var first: Duration
    package var longest: Duration
    private var failures = 0

    /// - Parameters:
    ///   - first: the maximum wait after the first failure; doubles with each failure.
    ///   - longest: the maximum wait.
    package init(first: Duration = .seconds(1), longest: Duration = .seconds(60)) {
        (self.first, self.longest) = (first, longest)
    }

    /// The next wait: between half and the whole of a value that doubles with each failure.
    ///
    /// - Parameter jitter: from 0 (half of the value) to 1 (the whole value). Use a random number if many clients wait.
    package mutating func next(jitter: Double) -> Duration {
        let longestWait = min(longest, first * (1 << min(failures, 16)))
        failures += 1
        return longestWait / 2 + (longestWait / 2) * min(1, max(0, jitter))
    }

    package mutating func reset() { failures = 0 }
}
