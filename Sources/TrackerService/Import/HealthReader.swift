import TrackerCore

/// Reads a file of drinks in chunks and delivers each sample. Detects the format: the three formats of `export`
/// (tracker spec D4), Apple Health's export (also as a ZIP archive), and CSV files of spreadsheets. Keeps one row in
/// memory.
///
/// An incomplete, malformed or other file throws `HealthFileError`. Samples are valid only after `finish` has returned.
/// Records of other types (steps, heart rate) are ignored.
package final class HealthReader {
    /// The format; `nil` until detected.
    package private(set) var format: HealthFiles.Format?
    private let deliver: (HealthSample) throws -> Void
    private var text = TextDecoder()
    /// The bytes before the format was detected.
    private var head: [UInt8] = []
    private var reader: (any FormatReader)?
    /// The first bytes, until they show whether the file is a ZIP archive.
    private var start: [UInt8]? = []
    private var zip: ZipReader?
    /// Notes about skipped or replaced content, one sentence each.
    package var remarks: [String] { reader?.remarks ?? [] }

    /// The time of the export, if the file has it (Apple Health only).
    package var exportedAt: Instant? { reader?.exportedAt }

    /// - Parameter deliver: receives each sample in the order of the file. An error of it ends the reading.
    package init(deliver: @escaping (HealthSample) throws -> Void) { self.deliver = deliver }

    package func feed(_ bytes: UnsafeRawBufferPointer) throws {
        guard start != nil else { return try pass(bytes) }
        start? += bytes
        if let start, start.count >= ZipReader.signature.count { try open(start) }
    }

    private func open(_ first: [UInt8]) throws {
        start = nil
        if first.starts(with: ZipReader.signature) {
            zip = try ZipReader { [unowned self] in try decode($0) }
        }
        try first.withUnsafeBytes { try pass($0) }
    }

    private func pass(_ bytes: UnsafeRawBufferPointer) throws {
        if let zip { try zip.feed(bytes) } else { try decode(bytes) }
    }

    private func decode(_ bytes: UnsafeRawBufferPointer) throws { try text.decode(bytes) { try take($0) } }

    /// Ends the file. Throws if it is incomplete.
    package func finish() throws {
        if let start { try open(start) }
        try zip?.finish()
        try text.finish { try take($0) }
        if reader == nil { try begin(isLast: true) }
        try reader?.finish()
    }

    package static func samples(_ bytes: [UInt8]) throws -> [HealthSample] {
        var samples: [HealthSample] = []
        let reader = HealthReader { samples.append($0) }
        try bytes.withUnsafeBytes { try reader.feed($0) }
        try reader.finish()
        return samples
    }

    package static func samples(_ text: String) throws -> [HealthSample] { try samples(Array(text.utf8)) }

    // MARK: - Parts

    private func take(_ bytes: UnsafeRawBufferPointer) throws {
        if let reader { return try reader.feed(bytes) }
        head += bytes
        try begin(isLast: false)
    }

    /// Creates the reader once the format is detected, and passes it the head.
    private func begin(isLast: Bool) throws {
        try FileHead.refuseOtherKinds(head)
        let start = head.firstIndex { !FileHead.isSpace($0) } ?? head.endIndex
        let line = 1 + head[..<start].count { $0 == UInt8(ascii: "\n") }
        switch start < head.endIndex ? head[start] : nil {
        case nil:
            guard isLast || head.count > FileHead.limit else { return }
            throw HealthFileError(reason: "The file is empty.")
        case UInt8(ascii: "<"):
            // Apple's document type is not well-formed. Without it, there are no entities to expand.
            guard let prolog = try FileHead.withoutDocumentType(head[start...], isLast: isLast) else { return }
            (format, reader, head) = (
                .appleHealth, try AppleHealthReader(line: line, deliver: deliver), prolog.bytes
            )
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            (format, reader) = (.json, JSONListReader(deliver: deliver))
        default:
            guard let header = try CSVReader.Header(head[start...], isLast: isLast) else { return }
            (format, reader, head) = (
                .csv, CSVReader(header, line: line, deliver: deliver), Array(head[(start + header.length)...])
            )
        }
        let first = head
        head = []
        try first.withUnsafeBytes { try reader?.feed($0) }
    }
}

/// A reader of one format, in chunks of UTF-8.
protocol FormatReader: AnyObject {
    func feed(_ bytes: UnsafeRawBufferPointer) throws
    /// - Throws: `HealthFileError` if the file is incomplete.
    func finish() throws
    var remarks: [String] { get }
    var exportedAt: Instant? { get }
}

extension FormatReader {
    var exportedAt: Instant? { nil }
    var remarks: [String] { [] }
}

/// Detection of a file's format from its beginning.
enum FileHead {
    /// The number of bytes in which a format must be detected.
    static let limit = 1 << 20

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Whitespace of JSON (RFC 8259, section 2).
    static func isJSONSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// Rejects files that users confuse with an export, with advice.
    static func refuseOtherKinds(_ head: [UInt8]) throws(HealthFileError) {
        if head.starts(with: [0x1F, 0x8B]) {
            throw HealthFileError(reason: "This is compressed by gzip: unpack it first.", code: "compressedFile")
        }
        if head.starts(with: Array("SQLite format 3\0".utf8)) {
            throw HealthFileError(reason: "This is a database, not a list of drinks.", code: "databaseFile")
        }
    }

    /// Replaces the document type in the prolog of an XML document by its line breaks. Returns `nil` until the root
    /// element begins, at `root`.
    static func withoutDocumentType(_ bytes: ArraySlice<UInt8>, isLast: Bool) throws(HealthFileError)
        -> (bytes: [UInt8], root: Int)?
    {
        var result: [UInt8] = []
        var rest = bytes
        while let mark = rest.firstIndex(of: UInt8(ascii: "<")) {
            result += rest[..<mark]
            rest = rest[mark...]
            let end: Int?
            if rest.starts(with: "<?".utf8) {
                end = rest.end(of: "?>")
            } else if rest.starts(with: "<!--".utf8) {
                end = rest.end(of: "-->")
            } else if rest.starts(with: "<!D".utf8) {
                end = rest.end(of: ">", behindBrackets: true)
            } else if rest.count > 3 || isLast, !rest.starts(with: "<!".utf8) {
                return (result + rest, result.count)
            } else {
                end = nil
            }
            guard let end else { break }
            result +=
                rest.starts(with: "<!D".utf8) ? rest[..<end].filter { $0 == UInt8(ascii: "\n") } : Array(rest[..<end])
            rest = rest[end...]
        }
        if isLast { throw HealthFileError(reason: "The document has no element: the file is truncated or not XML.") }
        guard bytes.count <= limit else {
            throw HealthFileError(
                reason: "The document begins with more than \(limit >> 20) MB of comments and declarations.")
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    /// The index after the first occurrence of a text. With `behindBrackets`, after the `]` of the first `[`.
    fileprivate func end(of text: String, behindBrackets: Bool = false) -> Int? {
        let wanted = Array(text.utf8)
        var index = startIndex
        if behindBrackets, let mark = firstIndex(where: { $0 == UInt8(ascii: "[") || $0 == wanted[0] }),
            self[mark] != wanted[0]
        {
            index = mark
            while index < endIndex {
                guard let close = self[index...].firstIndex(of: UInt8(ascii: "]")) else { return nil }
                guard let next = self[(close + 1)...].firstIndex(where: { !FileHead.isSpace($0) }) else { return nil }
                if self[next] == wanted[0] { return next + 1 }
                index = close + 1
            }
            return nil
        }
        while index + wanted.count <= endIndex {
            if self[index..<(index + wanted.count)].elementsEqual(wanted) { return index + wanted.count }
            index += 1
        }
        return nil
    }
}

/// Converts a file to UTF-8: removes a byte order mark, and decodes UTF-16, which spreadsheets write. UTF-8 is not
/// validated.
struct TextDecoder {
    private enum Encoding { case utf8, utf16LittleEndian, utf16BigEndian }
    private var encoding: Encoding?
    /// Incomplete input: the first four bytes of the file, or part of a character.
    private var pending: [UInt8] = []
    private var highSurrogate: UInt16?

    mutating func decode(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        if encoding == .utf8 { return try take(bytes) }
        pending += bytes
        guard encoding != nil || pending.count >= 4 else { return }
        try drain(take)
    }

    mutating func finish(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        try drain(take)
        guard pending.isEmpty, highSurrogate == nil else { throw Self.damaged }
    }

    private mutating func drain(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        if encoding == nil { encoding = try begin() }
        let bytes = pending
        guard encoding != .utf8 else {
            pending = []
            return try bytes.withUnsafeBytes { try take($0) }
        }
        var text: [UInt8] = []
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            append(encoding == .utf16LittleEndian ? second << 8 | first : first << 8 | second, to: &text)
        }
        pending = bytes.count % 2 == 0 ? [] : [bytes[bytes.count - 1]]
        try text.withUnsafeBytes { try take($0) }
    }

    /// Detects UTF-16 by its byte order mark, or by a zero byte in the first character.
    private mutating func begin() throws(HealthFileError) -> Encoding {
        let head = pending.prefix(4)
        if head.starts(with: [0xFF, 0xFE, 0, 0]) || head.starts(with: [0, 0, 0xFE, 0xFF]) {
            throw HealthFileError(
                reason: "The text is in UTF-32. Save it as UTF-8, for example: iconv -f UTF-32 -t UTF-8 FILE")
        }
        let marks: [(mark: [UInt8], encoding: Encoding)] = [
            ([0xEF, 0xBB, 0xBF], .utf8), ([0xFF, 0xFE], .utf16LittleEndian), ([0xFE, 0xFF], .utf16BigEndian),
        ]
        for (mark, encoding) in marks where head.starts(with: mark) {
            pending.removeFirst(mark.count)
            return encoding
        }
        guard head.count >= 2, (head[0] == 0) != (head[1] == 0) else { return .utf8 }
        return head[0] == 0 ? .utf16BigEndian : .utf16LittleEndian
    }

    /// An unpaired surrogate becomes three bytes of invalid UTF-8, which the reader of the format rejects.
    private mutating func append(_ unit: UInt16, to text: inout [UInt8]) {
        if let high = highSurrogate {
            highSurrogate = nil
            if 0xDC00...0xDFFF ~= unit {
                let value = 0x10000 + (UInt32(high) - 0xD800) << 10 + UInt32(unit) - 0xDC00
                text += [0xF0 | UInt8(value >> 18), 0x80 | UInt8(value >> 12 & 0x3F)]
                text += [0x80 | UInt8(value >> 6 & 0x3F), 0x80 | UInt8(value & 0x3F)]
                return
            }
            text += Self.bytes(high)
        }
        if 0xD800...0xDBFF ~= unit { highSurrogate = unit } else { text += Self.bytes(unit) }
    }

    private static func bytes(_ unit: UInt16) -> [UInt8] {
        switch unit {
        case 0..<0x80: [UInt8(unit)]
        case 0x80..<0x800: [0xC0 | UInt8(unit >> 6), 0x80 | UInt8(unit & 0x3F)]
        default: [0xE0 | UInt8(unit >> 12), 0x80 | UInt8(unit >> 6 & 0x3F), 0x80 | UInt8(unit & 0x3F)]
        }
    }

    private static let damaged = HealthFileError(reason: "The UTF-16 is incomplete: the file is truncated or damaged.")
}

struct SampleFields {
    typealias Text = UnsafeRawBufferPointer

    private var zones: [String: Zone] = [:]

    /// - Parameters:
    ///   - value: the amount; `nil` if `shown` is not a number.
    ///   - unit: must be valid for `HealthFiles.isUnit`.
    ///   - line: `nil` in formats without lines.
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

    static func name(cell text: Text, _ what: String, line: Int?) throws(HealthFileError) -> String? {
        try name(SpreadsheetCell.read(text), what, line: line)
    }

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

    /// A key or a name: text of limited length without control characters; `nil` if it is empty.
    static func name(_ text: String, _ what: String) throws(HealthFileError) -> String? {
        guard !text.isEmpty else { return nil }
        guard text.utf8.count <= 1000, !text.utf8.contains(where: { $0 < 0x20 }) else {
            throw HealthFileError(
                reason: "The \(what) \"\(text.prefix(60))\" is longer than 1000 bytes, or contains control characters.")
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

    /// The beginning of a text, for an error.
    static func shown(_ text: Text) -> String {
        String(decoding: text.prefix(60), as: UTF8.self) + (text.count > 60 ? "…" : "")
    }

    // MARK: - Parts

    /// A fast path for `2026-10-25 02:30:00 +0200` and `2026-10-25T02:30:00+02:00`, else `Instant(iso:)`.
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

    /// Parses a number; `nil` if invalid, for example `0x10`, `nan` or `true`.
    static func number(_ text: Text) -> Double? {
        guard !text.isEmpty, text.count <= 40 else { return nil }
        if text.count <= 9, let whole = digits(text[...]) { return Double(whole) }
        guard text.contains(where: { (0x30...0x39).contains($0) }),
            text.allSatisfy({ "0123456789+-.eE".utf8.contains($0) })
        else { return nil }
        return Double(String(decoding: text, as: UTF8.self))
    }
}
