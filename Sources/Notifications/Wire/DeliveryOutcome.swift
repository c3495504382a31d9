import Foundation
import TrackerCore

enum DeliveryOutcome: Hashable, Sendable {
    case sent
    /// The attempt failed, and a retry can succeed after the pause that the server requires.
    case later(String, after: Duration?)
    case refused(String)

    /// The maximum pause in seconds, whatever the server requires.
    private static let longest: Double = 3600

    /// Parses `Retry-After`: seconds, or a date (RFC 9110).
    static func retryPause(_ text: String?, now: Instant) -> Duration? {
        guard let text else { return nil }
        let seconds: Double
        if let number = Double(text), number.isFinite {
            seconds = number
        } else {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(secondsFromGMT: 0)
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            guard let date = format.date(from: text) else { return nil }
            seconds = date.timeIntervalSince1970 - Double(now.milliseconds) / 1000
        }
        return .seconds(min(longest, max(0, seconds)))
    }
}
