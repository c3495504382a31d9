/// Writes capture times. Keeps the last day's date, because neighbours share it.
final class MomentWriter {
    private var day = Int64.min
    private var date: [UInt8] = []

    /// `"2026-02-02T22:21:20.123Z"`, or `null`. Milliseconds, cut: the coarsest that any format keeps, so that one session
    /// reads the same from all of them.
    func json(_ time: Duration?, _ out: LineBuffer) {
        guard let time else { return out.put("null") }
        out.put(byte: UInt8(ascii: "\""))
        text(time, out)
        out.put(byte: UInt8(ascii: "\""))
    }

    /// `2026-02-02T22:21:20.123Z`
    func text(_ time: Duration, _ out: LineBuffer) {
        var (seconds, attoseconds) = time.components
        if attoseconds < 0, seconds > Int64.min {
            seconds -= 1
            attoseconds += 1_000_000_000_000_000_000
        }
        let (whole, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let today = rest < 0 ? whole - 1 : whole
        if today != day { turn(to: today) }
        let second = UInt64(truncatingIfNeeded: rest < 0 ? rest + 86_400 : rest)
        out.put(bytes: date)
        out.put(two: UInt8(truncatingIfNeeded: second / 3600))
        out.put(byte: UInt8(ascii: ":"))
        out.put(two: UInt8(truncatingIfNeeded: second / 60 % 60))
        out.put(byte: UInt8(ascii: ":"))
        out.put(two: UInt8(truncatingIfNeeded: second % 60))
        out.put(byte: UInt8(ascii: "."))
        out.put(number: UInt(attoseconds.magnitude / 1_000_000_000_000_000), width: 3)
        out.put(byte: UInt8(ascii: "Z"))
    }

    /// Seconds since 1970 with nine digits after the point, as tshark's `frame.time_epoch`.
    static func epoch(_ time: Duration, _ out: LineBuffer) {
        let (seconds, attoseconds) = time.components
        if time < .zero { out.put(byte: UInt8(ascii: "-")) }
        out.put(number: UInt(seconds.magnitude), width: 1)
        out.put(byte: UInt8(ascii: "."))
        out.put(number: UInt(attoseconds.magnitude / 1_000_000_000), width: 9)
    }

    private func turn(to day: Int64) {
        self.day = day
        let (seconds, overflow) = day.multipliedReportingOverflow(by: 86_400)
        let civil = CivilTime(secondsSince1970: overflow ? 0 : seconds)
        func padded(_ value: Int, _ width: Int) -> String {
            let digits = String(value.magnitude)
            return (value < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        date = Array("\(padded(civil.year, 4))-\(padded(civil.month, 2))-\(padded(civil.day, 2))T".utf8)
    }
}

/// A capture time as text: `2026-02-02T22:21:20.123Z`.
public func momentText(_ time: Duration) -> String {
    var bytes: [UInt8] = []
    let out = LineBuffer(capacity: 64) { bytes += $0 }
    MomentWriter().text(time, out)
    try? out.flush()
    return String(decoding: bytes, as: UTF8.self)
}
