/// A date of the proleptic Gregorian calendar without a time zone (tracker spec T). As text: `2026-02-03`.
package struct LocalDay: Hashable, Comparable, Sendable {
    /// The year, −299,999,999 to 299,999,999, so that every instant has a date.
    package let year: Int
    package let month: Int
    package let day: Int

    /// Returns `nil` if the date does not exist.
    package init?(year: Int, month: Int, day: Int) {
        guard Self.years.contains(year), (1...12).contains(month),
            (1...Self.length(ofMonth: month, year: year)).contains(day)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that many days after 1970-01-01; saturates at the range of years.
    package init(daysSince1970 days: Int) {
        let days = min(max(days, Self.days.lowerBound), Self.days.upperBound)
        // Howard Hinnant's civil_from_days: eras of 400 years that begin on 1 March.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01; negative before that day.
    package var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    package func adding(days: Int) -> LocalDay { LocalDay(daysSince1970: daysSince1970.saturatingAdd(days)) }

    /// The weekday: 0 = Monday … 6 = Sunday.
    package var weekday: Int { ((daysSince1970 + 3) % 7 + 7) % 7 }

    package static func < (left: LocalDay, right: LocalDay) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    /// The number of days of a month, 28–31; 0 for an invalid month.
    package static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 1, 3, 5, 7, 8, 10, 12: 31
        case 4, 6, 9, 11: 30
        case 2: isLeap(year) ? 29 : 28
        default: 0
        }
    }

    package static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// The range of years, larger than that of milliseconds.
    static let years = -299_999_999...299_999_999
    /// The range of years in days since 1970.
    private static let days = -109_573_469_162...109_572_030_471
}

extension LocalDay: LosslessStringConvertible, Codable {
    /// `2026-02-03`. Years outside 0–9999 have a sign and at least four digits: `-0001-12-31`, `+10000-01-01` (ISO
    /// 8601).
    package var description: String { dateText(year, month, day) }

    /// Parses exactly `yyyy-MM-dd`, and the format of `description` for other years.
    package init?(_ text: String) {
        let (bytes, dash) = (Array(text.utf8), UInt8(ascii: "-"))
        let isSigned = bytes.first == dash || bytes.first == UInt8(ascii: "+")
        let yearEnd = bytes.count - 6
        guard isSigned ? yearEnd >= 5 : yearEnd == 4, bytes[yearEnd] == dash, bytes[yearEnd + 3] == dash,
            let year = number(bytes[(isSigned ? 1 : 0)..<yearEnd]),
            let month = number(bytes[(yearEnd + 1)..<(yearEnd + 3)]),
            let day = number(bytes[(yearEnd + 4)...])
        else { return nil }
        self.init(year: bytes[0] == dash ? -year : year, month: month, day: day)
    }

    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let day = LocalDay(text) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath, debugDescription: "\"\(text)\" is not a date of the form yyyy-MM-dd"
                ))
        }
        self = day
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The date `2026-02-03`, with a sign outside the years 0–9999. Impossible fields are written unchanged.
func dateText(_ year: Int, _ month: Int, _ day: Int) -> String {
    "\(year > 9999 ? "+" : "")\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
}

/// A number with leading zeros, at least `width` digits.
func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value.magnitude)
    guard value < 0 || digits.utf8.count < width else { return digits }
    var text = value < 0 ? "-" : ""
    for _ in 0..<max(0, width - digits.utf8.count) { text += "0" }
    return text + digits
}

/// The value of up to nine ASCII digits, or `nil`.
func number(_ digits: some Collection<UInt8>) -> Int? {
    guard (1...9).contains(digits.count) else { return nil }
    var value = 0
    for byte in digits {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return value
}
