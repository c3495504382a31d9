package import Emulator
import Foundation

/// The host's clock for emulated bottles and captures.
package enum HostClock {
    package static func localTime() -> LocalTime {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        localtime_r(&now.tv_sec, &parts)
        let since2000 = Int64(now.tv_sec) + Int64(parts.tm_gmtoff) - 946_684_800
        return LocalTime(milliseconds: since2000 * 1000 + Int64(now.tv_nsec) / 1_000_000)
    }

    /// The time since 1970-01-01 UTC.
    package static func sinceEpoch() -> Duration {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return .seconds(Int64(now.tv_sec)) + .nanoseconds(Int64(now.tv_nsec))
    }
}
