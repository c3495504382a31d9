import Foundation
import Synchronization

/// The `Date` header of responses (RFC 9110, 6.6.1), formatted at most once per second and only on a request. The
/// library's own cache wakes the process every second for each listening address.
final class DateField: Sendable {
    private let written = Mutex((second: Int.min, text: ""))

    /// The header value: `Sun, 06 Nov 1994 08:49:37 GMT`.
    /// - Parameter second: whole seconds since 1970, UTC.
    func text(at second: Int) -> String {
        written.withLock { written in
            if written.second != second { written = (second, Self.text(second)) }
            return written.text
        }
    }

    private static func text(_ second: Int) -> String {
        var (clock, parts) = (time_t(second), tm())
        gmtime_r(&clock, &parts)
        var bytes = [CChar](repeating: 0, count: 64)
        // The names of days and months are English, because no program here sets a locale.
        let count = strftime(&bytes, bytes.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
