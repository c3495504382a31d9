import Captures

/// Writes the times of packets in UTC. Caches the text of the last second, which consecutive packets share.
final class TimestampWriter {
    private var day = Int64.min
    private var date: [UInt8] = []
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
            cache(second: time)
        }
        let milliseconds = UInt64(truncatingIfNeeded: sinceSecond) / 1_000_000_000_000_000
        out.put(bytes: second)
        out.put(number: UInt(milliseconds), width: 3)
        out.put(byte: UInt8(ascii: "Z"))
    }

    private static let attosecondsPerSecond: Int128 = 1_000_000_000_000_000_000

    private func cache(second time: Duration) {
        var seconds = time.components.seconds
        if time.components.attoseconds < 0, seconds > Int64.min { seconds -= 1 }
        let (whole, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let today = rest < 0 ? whole - 1 : whole
        if today != day { cache(day: today) }
        let ofDay = Int(rest < 0 ? rest + 86_400 : rest)
        second = date
        for (value, separator) in [(ofDay / 3600, ":"), (ofDay / 60 % 60, ":"), (ofDay % 60, ".")] {
            second.append(contentsOf: [UInt8(ascii: "0") + UInt8(value / 10), UInt8(ascii: "0") + UInt8(value % 10)])
            second.append(contentsOf: separator.utf8)
        }
    }

    /// Writes seconds since 1970 with nine decimal places, as in tshark's `frame.time_epoch`.
    static func epoch(_ time: Duration, _ out: LineBuffer) {
        let (seconds, attoseconds) = time.components
        if time < .zero { out.put(byte: UInt8(ascii: "-")) }
        out.put(number: UInt(seconds.magnitude), width: 1)
        out.put(byte: UInt8(ascii: "."))
        out.put(number: UInt(attoseconds.magnitude / 1_000_000_000), width: 9)
    }

    private func cache(day: Int64) {
        self.day = day
        let (seconds, overflow) = day.multipliedReportingOverflow(by: 86_400)
        date = Array("\(TextEncoding.date(.seconds(overflow ? 0 : seconds)))T".utf8)
    }
}

package func timestampText(_ time: Duration) -> String {
    var bytes: [UInt8] = []
    let out = LineBuffer(capacity: 64) { bytes += $0 }
    TimestampWriter().text(time, out)
    try? out.flush()
    return String(decoding: bytes, as: UTF8.self)
}
