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

    private static func text(_ second: Int) -> String {
        var (clock, parts) = (time_t(second), tm())
        gmtime_r(&clock, &parts)
        var bytes = [CChar](repeating: 0, count: 64)
        // The names of days and months are English: no program here sets a locale.
        let count = strftime(&bytes, bytes.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
