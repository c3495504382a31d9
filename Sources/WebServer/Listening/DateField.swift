import Foundation
import Synchronization

/// The `Date` field of answers (RFC 9110, 6.6.1), written anew when somebody asks in another second. Nothing ticks
/// while nobody asks: the library's own cache wakes the process each second, for each address that it listens on.
final class DateField: Sendable {
    private let written = Mutex((second: Int.min, text: ""))

    /// - Parameter second: whole seconds since 1970, UTC.
    /// - Returns: `Sun, 06 Nov 1994 08:49:37 GMT`.
    func text(at second: Int) -> String {
        written.withLock { written in
            if written.second != second { written = (second, Self.text(second)) }
            return written.text
        }
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func text(_ second: Int) -> String {
        var (clock, parts) = (time_t(second), tm())
        gmtime_r(&clock, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            """
            \(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \
            \(1900 + Int(parts.tm_year)) 
            """
                + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}
