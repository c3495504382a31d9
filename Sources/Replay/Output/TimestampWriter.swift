import Captures

/// Writes the times of packets in UTC. Caches the text of the last second, which consecutive packets share.
final class TimestampWriter {
    /// The start of the last second in attoseconds since 1970; `second` is its text up to the point.
    private var start: Int128?
    private var second: [UInt8] = []

    /// Writes `"2026-02-02T22:21:20.123Z"`, truncated to milliseconds, or `null`.
    func json(_ time: Duration?, _ out: LineBuffer) {
        guard let time else { return out.put("null") }
        out.put(byte: UInt8(ascii: "\""))
        text(time, out)
        out.put(byte: UInt8(ascii: "\""))
    }

    /// Writes `2026-02-02T22:21:20.123Z`.
    func text(_ time: Duration, _ out: LineBuffer) {
        let moment = time.attoseconds
        var sinceSecond = start.map { moment - $0 } ?? -1
        if sinceSecond < 0 || sinceSecond >= Self.attosecondsPerSecond {
            sinceSecond = moment % Self.attosecondsPerSecond
            if sinceSecond < 0 { sinceSecond += Self.attosecondsPerSecond }
            start = moment - sinceSecond
            second = Array("\(TextEncoding.date(time))T\(TextEncoding.clock(time, digits: 0))".utf8)
        }
        let milliseconds = UInt64(truncatingIfNeeded: sinceSecond) / 1_000_000_000_000_000
        out.put(bytes: second)
        out.put(number: UInt(milliseconds), width: 3)
        out.put(byte: UInt8(ascii: "Z"))
    }

    private static let attosecondsPerSecond: Int128 = 1_000_000_000_000_000_000

    /// Writes seconds since 1970 with nine decimal places, as in tshark's `frame.time_epoch`.
    static func epoch(_ time: Duration, _ out: LineBuffer) {
        let (seconds, attoseconds) = time.components
        if time < .zero { out.put(byte: UInt8(ascii: "-")) }
        out.put(number: UInt(seconds.magnitude), width: 1)
        out.put(byte: UInt8(ascii: "."))
        out.put(number: UInt(attoseconds.magnitude / 1_000_000_000), width: 9)
    }
}

/// `2026-02-02T22:21:20.123Z`, truncated to milliseconds.
package func timestampText(_ time: Duration) -> String {
    "\(TextEncoding.date(time))T\(TextEncoding.clock(time, digits: 3))Z"
}
