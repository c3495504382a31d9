import TrackerCore

/// Validates the texts of a file and converts them to a sample.
struct SampleFields {
    private var zones: [String: Zone] = [:]

    /// Converts a date and an amount to a sample.
    /// - Parameters:
    ///   - value: the amount; `nil` if `shown` is not a number.
    ///   - shown: the amount as written in the file, for errors.
    ///   - unit: a unit that `HealthFiles.isUnit` accepts.
    ///   - line: the line number for errors; `nil` in formats without lines.
    static func sample(date: String, value: Double?, shown: String, unit: String = "mL", line: Int? = nil)
        throws(HealthFileError) -> HealthSample
    {
        guard let at = instant(date) else {
            throw HealthFileError(
                line: line, reason: "\"\(self.shown(date))\" is not a date such as 2026-10-25 02:30:00 +0200.")
        }
        guard at.isSupported else {
            throw HealthFileError(line: line, reason: UnsupportedInstant(instant: at).description)
        }
        guard let ml = value.flatMap({ HealthFiles.amount($0, unit: unit) }) else {
            throw HealthFileError(line: line, reason: "\"\(self.shown(shown))\" is not an amount of water.")
        }
        return HealthSample(at: at, ml: ml)
    }

    /// Validates a key or a name: at most 1000 bytes without control characters. Returns `nil` for an empty text.
    static func name(_ text: String, _ field: String, line: Int? = nil) throws(HealthFileError) -> String? {
        guard !text.isEmpty else { return nil }
        guard text.utf8.count <= 1000, !text.utf8.contains(where: { $0 < 0x20 }) else {
            throw HealthFileError(
                line: line,
                reason: "The \(field) \"\(text.prefix(60))\" is longer than 1000 bytes, or contains control characters."
            )
        }
        return text
    }

    /// The bytes of a bottle's record; `nil` if the text is empty.
    static func bytes(_ text: String, line: Int? = nil) throws(HealthFileError) -> [UInt8]? {
        guard !text.isEmpty else { return nil }
        guard let bytes = WireEntry.bytes(text) else {
            throw HealthFileError(
                line: line,
                reason: "\"\(text.prefix(60))\" is not a record of \(JournalEntry.length) bytes in hexadecimal.")
        }
        return bytes
    }

    /// Sets the zone, day and source of an exported drink (JSON only).
    mutating func setOrigin(_ sample: inout HealthSample, zone: String?, day: String?, source: String?)
        throws(HealthFileError)
    {
        if let zone {
            if zones[zone] == nil {
                do { zones[zone] = try Zone(zone) } catch { throw HealthFileError(reason: error.description) }
            }
            sample.zone = zone
        }
        if let day {
            guard let zone = sample.zone.flatMap({ zones[$0] }), let known = LocalDay(day),
                abs(known.daysSince1970 - DayCalendar(zone: zone, boundaryHour: 0).date(of: sample.at).daysSince1970)
                    <= 1
            else {
                throw HealthFileError(
                    reason: "\"\(day)\" is not the day of \(sample.at) in a zone that the entry names.")
            }
            sample.day = known
        }
        sample.source = source.map { DrinkSource(rawValue: $0) }
    }

    /// A text of the file for an error message, truncated to 60 characters.
    static func shown(_ text: String) -> String { text.utf8.count > 60 ? text.prefix(60) + "…" : text }

    static func instant(_ text: String) -> Instant? { text.utf8.count <= 40 ? Instant(iso: text) : nil }

    /// Parses a number; `nil` if invalid, for example `0x10`, `nan` or `true`.
    static func number(_ text: String) -> Double? {
        guard text.utf8.count <= 40, text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text)
    }
}
