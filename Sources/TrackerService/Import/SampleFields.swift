import TrackerCore

/// A sample's fields as a file writes them, and what they must be.
struct SampleFields {
    typealias Text = UnsafeRawBufferPointer

    /// Zones by id, each looked up once.
    private var zones: [String: Zone] = [:]

    /// - Parameters:
    ///   - value: the amount; `nil` where `shown` is no number.
    ///   - unit: one that `HealthFiles.isUnit` knows.
    ///   - line: where it stands, in formats that have lines.
    static func sample(date: Text, value: Double?, shown: Text, unit: String = "mL", line: Int?)
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

    /// As above, of fields that are read already.
    static func sample(date: String, value: Double) throws(HealthFileError) -> HealthSample {
        var (date, result) = (date, Instant?.none)
        date.withUTF8 { result = instant(UnsafeRawBufferPointer($0)) }
        guard let at = result else {
            throw HealthFileError(reason: "\"\(date.prefix(60))\" is not a date such as 2026-10-25 02:30:00 +0200.")
        }
        guard at.isSupported else { throw HealthFileError(reason: UnsupportedInstant(instant: at).description) }
        guard let ml = HealthFiles.amount(value, unit: "mL") else {
            throw HealthFileError(reason: "\(value) is not an amount of water.")
        }
        return HealthSample(at: at, ml: ml)
    }

    /// A key or a name in a spreadsheet's cell, as below.
    static func name(cell text: Text, _ what: String, line: Int?) throws(HealthFileError) -> String? {
        try name(SpreadsheetCell.read(text), what, line: line)
    }

    /// The same of bytes, as below.
    static func name(_ text: Text, _ what: String, line: Int?) throws(HealthFileError) -> String? {
        try name(String(decoding: text, as: UTF8.self), what, line: line)
    }

    private static func name(_ text: String, _ what: String, line: Int?) throws(HealthFileError) -> String? {
        do {
            return try name(text, what)
        } catch {
            throw HealthFileError(line: line, reason: error.reason)
        }
    }

    /// A key or a name: text of a believable length, without control characters. Nothing for empty text.
    static func name(_ text: String, _ what: String) throws(HealthFileError) -> String? {
        guard !text.isEmpty else { return nil }
        guard text.utf8.count <= 1000, !text.utf8.contains(where: { $0 < 0x20 }) else {
            throw HealthFileError(
                reason: "The \(what) \"\(text.prefix(60))\" is longer than 1000 bytes, or holds control characters.")
        }
        return text
    }

    /// The bytes of a bottle's record; `nil` for empty text.
    static func bytes(_ text: String, line: Int? = nil) throws(HealthFileError) -> [UInt8]? {
        guard !text.isEmpty else { return nil }
        guard let bytes = WireEntry.bytes(text) else {
            throw HealthFileError(
                line: line,
                reason: "\"\(text.prefix(60))\" is not a record of \(JournalEntry.length) bytes in hexadecimal.")
        }
        return bytes
    }

    /// Takes over where and when a drink of ours was counted, as our JSON has it.
    mutating func place(_ sample: inout HealthSample, zone: String?, day: String?, source: String?)
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

    /// The beginning of a text, for a message.
    static func shown(_ text: Text) -> String {
        String(decoding: text.prefix(60), as: UTF8.self) + (text.count > 60 ? "…" : "")
    }

    // MARK: - Parts

    /// `2026-10-25 02:30:00 +0200` and `2026-10-25T02:30:00+02:00`, read at once; anything else that `Instant(iso:)`
    /// takes.
    static func instant(_ text: Text) -> Instant? {
        let isISO = text.count == 25 && text[10] == UInt8(ascii: "T") && text[22] == UInt8(ascii: ":")
        let isSpaced = text.count == 25 && text[10] == UInt8(ascii: " ") && text[19] == UInt8(ascii: " ")
        let sign = isISO ? 19 : 20
        guard isISO || isSpaced, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            text[sign] == UInt8(ascii: "+") || text[sign] == UInt8(ascii: "-"),
            let year = digits(text[0..<4]), let month = digits(text[5..<7]), let day = digits(text[8..<10]),
            let hour = digits(text[11..<13]),
            let minute = digits(text[14..<16]), let second = digits(text[17..<19]),
            let offsetHours = digits(text[(sign + 1)..<(sign + 3)]), let offsetMinutes = digits(text[23..<25]),
            let date = LocalDay(year: year, month: month, day: day), hour < 24, minute < 60, second < 60,
            offsetHours <= 18, offsetMinutes < 60
        else { return text.count <= 40 ? Instant(iso: String(decoding: text, as: UTF8.self)) : nil }
        let east = (offsetHours * 3600 + offsetMinutes * 60) * (text[sign] == UInt8(ascii: "-") ? -1 : 1)
        return Instant(seconds: Int64(date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - east))
    }

    private static func digits(_ text: Slice<Text>) -> Int? {
        var value = 0
        for byte in text {
            guard (0x30...0x39).contains(byte) else { return nil }
            value = value * 10 + Int(byte) - 0x30
        }
        return value
    }

    /// A decimal number as programs write one: no `0x10`, no `nan`, no `true`.
    static func number(_ text: Text) -> Double? {
        guard !text.isEmpty, text.count <= 40 else { return nil }
        if text.count <= 9, let whole = digits(text[...]) { return Double(whole) }
        guard text.contains(where: { (0x30...0x39).contains($0) }),
            text.allSatisfy({ "0123456789+-.eE".utf8.contains($0) })
        else { return nil }
        return Double(String(decoding: text, as: UTF8.self))
    }
}
