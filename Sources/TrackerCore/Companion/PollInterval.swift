/// The interval between polls (tracker spec A7).
package enum PollInterval {
    /// Seconds from the end of the last poll to the next one. `secondsToDue` is the time to the next drink; `nil`
    /// (outside hours, goal met) counts as 1800. The steps are half-open: 300 belongs to the longer interval.
    package static func calculatePollInterval(secondsToDue: Double?) -> Double {
        switch secondsToDue ?? 1800 {
        case ...0: 60
        case ..<300: 120
        case ..<600: 300
        default: 600
        }
    }
}
