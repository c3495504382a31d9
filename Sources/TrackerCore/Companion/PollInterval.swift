/// When to poll the bottle next (tracker spec A7).
package enum PollInterval {
    /// Seconds until the next poll, counted from the end of the last one. `secondsToDue` is the time to the next
    /// drink; `nil` (outside hours, goal met) reads as 1800. The steps are half-open: 300 belongs to the longer side.
    package static func calculatePollInterval(secondsToDue: Double?) -> Double {
        switch secondsToDue ?? 1800 {
        case ...0: 60
        case ..<300: 120
        case ..<600: 300
        default: 600
        }
    }
}
