extension WallTime: CustomStringConvertible {
    /// Whether the Gregorian date and the time of day (00:00:00–23:59:59) exist.
    package var isPossible: Bool {
        LocalDay(year: year, month: month, day: day) != nil
            && (0...23).contains(hour) && (0...59).contains(minute) && (0...59).contains(second)
    }

    /// The local time without a zone: `2026-02-02T22:21:15`. Impossible fields are written unchanged.
    package var description: String { "\(dateText)T\(timeText)" }

    /// The date: `2026-02-02`, with a sign outside the years 0–9999.
    package var dateText: String { TrackerCore.dateText(year, month, day) }

    /// The time of day: `22:21:15`.
    package var timeText: String { "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))" }

    /// Parses exactly the format of `description`, for an existing date. A space can replace the `T`.
    package init?(_ text: String) {
        let all = Array(text.utf8)
        guard all.count >= 19 else { return nil }
        let (bytes, time) = (all[...], all.count - 8)
        guard let date = LocalDay(String(decoding: bytes[..<(time - 1)], as: UTF8.self)),
            bytes[time - 1] == UInt8(ascii: "T") || bytes[time - 1] == UInt8(ascii: " "),
            bytes[time + 2] == UInt8(ascii: ":"), bytes[time + 5] == UInt8(ascii: ":"),
            let hour = number(bytes[time..<(time + 2)]), let minute = number(bytes[(time + 3)..<(time + 5)]),
            let second = number(bytes[(time + 6)...])
        else { return nil }
        self.init(year: date.year, month: date.month, day: date.day, hour: hour, minute: minute, second: second)
        guard isPossible else { return nil }
    }

    /// Seconds since 1970 if this is UTC; `nil` for impossible fields.
    var utcSeconds: Int64? {
        guard let date = LocalDay(year: year, month: month, day: day), isPossible else { return nil }
        return Int64(date.daysSince1970) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    init(utcSeconds seconds: Int64) {
        let days = floorDivide(seconds, 86_400)
        let rest = Int(seconds - days * 86_400)
        let date = LocalDay(daysSince1970: Int(days))
        self.init(
            year: date.year, month: date.month, day: date.day,
            hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60)
    }
}

extension Instant: CustomStringConvertible {
    /// UTC in ISO 8601: `2026-02-02T22:21:15Z`, with three decimals if the milliseconds are not zero.
    package var description: String {
        let seconds = floorDivide(milliseconds, 1000)
        let rest = Int((milliseconds % 1000 + 1000) % 1000)
        return "\(WallTime(utcSeconds: seconds))" + (rest == 0 ? "" : ".\(padded(rest, 3))") + "Z"
    }

    /// Parses `2026-02-02T22:21:15Z` or with an offset (`+02:00`, `+0200`) and up to three decimals. Seconds are
    /// optional. `nil` for other texts and for a time without a zone.
    package init?(iso text: String) {
        var rest = text.utf8[...]
        var offset: Int64 = 0
        if rest.last == UInt8(ascii: "Z") {
            rest.removeLast()
        } else if let sign = rest.dropFirst(10).lastIndex(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") })
        {
            let digits = rest[sign...].dropFirst().filter { $0 != UInt8(ascii: ":") }
            guard digits.count == 4, let value = number(digits), value / 100 <= 18, value % 100 < 60 else { return nil }
            offset = Int64((value / 100) * 3600 + (value % 100) * 60) * (rest[sign] == UInt8(ascii: "-") ? -1 : 1)
            rest = rest[..<sign]
            while rest.first == UInt8(ascii: " ") { rest.removeFirst() }
            while rest.last == UInt8(ascii: " ") { rest.removeLast() }
        } else {
            return nil
        }
        var fraction: Int64 = 0
        if let dot = rest.lastIndex(of: UInt8(ascii: ".")) {
            let digits = Array(rest[dot...].dropFirst())
            guard digits.count <= 3, let value = number(digits) else { return nil }
            fraction = Int64(value) * [100, 10, 1][digits.count - 1]
            rest = rest[..<dot]
        }
        // A time without seconds has one colon; the date has none.
        let isWithoutSeconds = rest.count { $0 == UInt8(ascii: ":") } == 1
        guard let seconds = WallTime(String(Substring(rest)) + (isWithoutSeconds ? ":00" : ""))?.utcSeconds else {
            return nil
        }
        self.init(milliseconds: Int64(clamping: Int128(seconds - offset) * 1000 + Int128(fraction)))
    }

    package var wholeSeconds: Int64 { floorDivide(milliseconds, 1000) }
}

extension Substring {
    func trimmingSpaces() -> Substring {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }
}
