import CLibXML2
import TrackerCore

/// Reads the water records of a `HealthData` document with libxml2 in chunks. Builds no tree, fetches nothing and
/// expands no entities.
final class AppleHealthReader {
    private let context: xmlParserCtxtPtr
    private let deliver: (HealthSample) throws -> Void
    /// The bytes before the root element; `nil` after it has begun. They are not parsed: Apple's document type is not
    /// well-formed, and without one the document has no entities to expand.
    private var prolog: HealthProlog? = HealthProlog()
    /// The number of lines before the root element, which the parser does not count.
    private var linesBefore = 0
    private var repair = XMLRepair()
    /// The skipped water records, whose unit is not a volume: their number, and the unit and line of the first one.
    private var skipped: (count: Int, unit: String, line: Int)?
    private(set) var exportedAt: Instant?
    private var depth = 0
    private var current: HealthSample?
    /// Whether the current record has the metadata entry `HealthFiles.escapedKey`, which takes precedence.
    private var hasEscapedKey = false
    /// The error of a callback, which cannot throw through C.
    private var callbackError: (any Error)?

    init(deliver: @escaping (HealthSample) throws -> Void) throws(HealthFileError) {
        self.deliver = deliver
        var handler = xmlSAXHandler()
        handler.initialized = UInt32(XML_SAX2_MAGIC)
        handler.startElementNs = { reader, name, _, _, _, _, count, _, attributes in
            AppleHealthReader.of(reader)?.start(name, Attributes(count: Int(count), fields: attributes))
        }
        handler.endElementNs = { reader, name, _, _ in AppleHealthReader.of(reader)?.end(name) }
        guard let context = xmlCreatePushParserCtxt(&handler, nil, nil, 0, nil) else {
            throw HealthFileError(reason: "Reading XML failed: out of memory.")
        }
        self.context = context
        // The declared encoding is ignored: the input is UTF-8. Without a document type, XML has five entities.
        let options = [XML_PARSE_NOENT, XML_PARSE_NONET, XML_PARSE_NOERROR, XML_PARSE_NOWARNING, XML_PARSE_IGNORE_ENC]
            .reduce(0) { $0 | Int32($1.rawValue) }
        xmlCtxtUseOptions(context, options)
        context.pointee.userData = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit { xmlFreeParserCtxt(context) }

    func feed(_ bytes: UnsafeRawBufferPointer) throws {
        guard var head = prolog else { return try parse(repair.repair(bytes, isLast: false)) }
        // The array is not copied if it has one owner.
        prolog = nil
        guard let root = head.root(appending: bytes) else {
            prolog = head
            guard head.bytes.count <= FileHead.limit else { throw Self.noRoot }
            return
        }
        linesBefore = head.bytes[..<root].count { $0 == UInt8(ascii: "\n") }
        repair.line += linesBefore
        try head.bytes[root...].withUnsafeBytes { try parse(repair.repair($0, isLast: false)) }
    }

    func finish() throws {
        guard prolog == nil else { throw Self.noRoot }
        try parse(repair.repair(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true))
        xmlParseChunk(context, nil, 0, 1)
        try check()
    }

    private static let noRoot = HealthFileError(
        reason: "The document has no HealthData element: the file is truncated, or not an Apple Health export.")

    private func parse(_ bytes: [UInt8]) throws {
        // The parser's lengths have 32 bits.
        try bytes.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: 1 << 20) {
                let part = UnsafeRawBufferPointer(rebasing: bytes[start...].prefix(1 << 20))
                xmlParseChunk(context, part.assumingMemoryBound(to: CChar.self).baseAddress, Int32(part.count), 0)
                try check()
            }
        }
    }

    var remarks: [String] {
        var sentences: [String] = []
        if repair.count > 0 {
            sentences.append(
                """
                Characters that XML does not allow were replaced in \(repair.count) \
                \(repair.count == 1 ? "place" : "places"), first in line \(repair.firstLine).
                """)
        }
        if let skipped {
            sentences.append(
                """
                \(skipped.count) water \(skipped.count == 1 ? "record" : "records") skipped: the unit \
                "\(skipped.unit)" is not a volume (first in line \(skipped.line)).
                """)
        }
        return sentences
    }

    private func check() throws {
        if let callbackError { throw callbackError }
        guard context.pointee.wellFormed == 0 else { return }
        let message = context.pointee.lastError.message.map { String(cString: $0) } ?? ""
        let start = message.split(separator: "\n").first.map { "\($0.prefix(200)): the" } ?? "The"
        throw HealthFileError(line: line, reason: "\(start) file is truncated or not XML.")
    }

    // MARK: - Elements

    private static func of(_ reader: UnsafeMutableRawPointer?) -> AppleHealthReader? {
        reader.map { Unmanaged<AppleHealthReader>.fromOpaque($0).takeUnretainedValue() }
    }

    private var line: Int { linesBefore + (context.pointee.input.map { Int($0.pointee.line) } ?? 1) }

    private func start(_ name: UnsafePointer<xmlChar>?, _ attributes: Attributes) {
        depth += 1
        do {
            if depth == 2, isEqual(name, "ExportDate") {
                exportedAt = attributes["value"].flatMap(SampleFields.instant)
            } else if isEqual(name, "Record") {
                try startRecord(attributes)
            } else if current != nil, isEqual(name, "MetadataEntry"), let key = attributes["key"],
                let value = attributes["value"]
            {
                try addMetadata(key, value)
            }
        } catch {
            stop(error)
        }
    }

    private func startRecord(_ attributes: Attributes) throws {
        guard attributes["type"] == HealthFiles.waterType else { return }
        let unit = attributes["unit"] ?? ""
        guard HealthFiles.isUnit(unit) else {
            skipped = ((skipped?.count ?? 0) + 1, skipped?.unit ?? String(unit.prefix(40)), skipped?.line ?? line)
            return
        }
        hasEscapedKey = false
        let value = attributes["value"] ?? ""
        var sample = try SampleFields.sample(
            date: attributes["startDate"] ?? "", value: SampleFields.number(value), shown: value, unit: unit,
            line: line)
        sample.sourceName = try SampleFields.name(attributes["sourceName"] ?? "", "sourceName", line: line)
        current = sample
    }

    private func addMetadata(_ key: String, _ value: String) throws {
        switch key {
        case "HKExternalUUID":
            if !hasEscapedKey { current?.uuid = try SampleFields.name(value, key, line: line) }
        case HealthFiles.escapedKey:
            current?.uuid = try unescaped(value, key)
            hasEscapedKey = true
        case HealthFiles.originalKey: current?.original = try unescaped(value, key)
        case HealthFiles.bottleKey: current?.bottle = try unescaped(value, key)
        case HealthFiles.rawKey: current?.raw = try SampleFields.bytes(value, line: line)
        default: break
        }
    }

    private func unescaped(_ value: String, _ name: String) throws -> String? {
        guard let text = HealthFiles.unescaped(value) else {
            throw HealthFileError(line: line, reason: "Invalid escaped key \"\(SampleFields.shown(value))\".")
        }
        return try SampleFields.name(text, name)
    }

    private func end(_ name: UnsafePointer<xmlChar>?) {
        depth -= 1
        guard let sample = current, isEqual(name, "Record") else { return }
        current = nil
        do { try deliver(sample) } catch { stop(error) }
    }

    private func stop(_ error: any Error) {
        callbackError = callbackError ?? error
        xmlStopParser(context)
    }

    private func isEqual(_ name: UnsafePointer<xmlChar>?, _ text: StaticString) -> Bool {
        xmlStrEqual(name, text.utf8Start) != 0
    }
}

/// The attributes of an element in libxml2's array: five pointers each. The last two are the bounds of the value.
private struct Attributes {
    let count: Int
    let fields: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?

    subscript(_ name: StaticString) -> String? {
        guard let fields else { return nil }
        for index in 0..<count where xmlStrEqual(fields[5 * index], name.utf8Start) != 0 {
            guard let start = fields[5 * index + 3], let end = fields[5 * index + 4] else { return nil }
            return String(decoding: UnsafeBufferPointer(start: start, count: end - start), as: UTF8.self)
        }
        return nil
    }
}

/// Replaces invalid XML that exports contain: control characters, noncharacters, invalid UTF-8 and numeric references
/// to such characters become `?`. A space in an attribute's name becomes `_`. The number of bytes does not change.
struct XMLRepair {
    private enum Context: Equatable {
        case text, elementName, tag, attributeName, attributeValue(quote: UInt8)
        /// A comment, CDATA section, processing instruction or end tag, up to this text.
        case until([UInt8])
    }

    /// The number of replacements, and the line of the first.
    private(set) var count = 0
    private(set) var firstLine = 0
    private var context = Context.text
    /// The line of the next byte, from 1.
    var line = 1
    /// Incomplete bytes at the end of the last chunk.
    private var pending: [UInt8] = []
    /// The maximum number of pending bytes. The longest case is spaces in a name.
    private static let longestPending = 1 << 16

    /// Returns the repaired bytes, except an incomplete end. With `isLast`, returns all.
    mutating func repair(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> [UInt8] {
        pending += bytes
        let isLast = isLast || pending.count - bytes.count > Self.longestPending
        var at = 0
        var buffer = pending
        buffer.withUnsafeMutableBufferPointer { buffer in
            while at < buffer.count, let next = step(buffer, at, isLast: isLast) { at = next }
        }
        pending = Array(buffer[at...])
        buffer.removeLast(buffer.count - at)
        return buffer
    }

    /// Handles the token at an index.
    /// - Returns: the index after it; `nil` if more bytes are needed.
    private mutating func step(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        let byte = bytes[at]
        guard byte < 0x80 else { return character(bytes, at, isLast: isLast) }
        if byte == UInt8(ascii: "\n") {
            line += 1
        } else if byte < 0x20, byte != UInt8(ascii: "\t"), byte != UInt8(ascii: "\r") {
            replace(bytes, at..<(at + 1))
            return at + 1
        }
        switch context {
        case .text where byte == UInt8(ascii: "<"): return markup(bytes, at, isLast: isLast)
        case .text where byte == UInt8(ascii: "&"), .attributeValue where byte == UInt8(ascii: "&"):
            return reference(bytes, at, isLast: isLast)
        case .attributeValue(let quote): if byte == quote { context = .tag }
        case .elementName where FileHead.isSpace(byte): context = .tag
        case .elementName, .tag, .attributeName: return tag(bytes, at, isLast: isLast)
        case .until(let end):
            guard byte == end[0] else { break }
            guard isLast || at + end.count <= bytes.count else { return nil }
            guard bytes[at...].starts(with: end) else { break }
            context = .text
            return at + end.count
        case .text: break
        }
        return at + 1
    }

    private mutating func tag(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        switch bytes[at] {
        case UInt8(ascii: ">"): context = .text
        case UInt8(ascii: "\""), UInt8(ascii: "'"): context = .attributeValue(quote: bytes[at])
        case UInt8(ascii: "="): context = .tag
        case let byte where FileHead.isSpace(byte) && context == .attributeName:
            guard let end = bytes[at...].firstIndex(where: { !FileHead.isSpace($0) }) else {
                return isLast ? at + 1 : nil
            }
            if Self.isNameStart(bytes[end]) {
                replace(bytes, at..<end, with: UInt8(ascii: "_"))
            } else {
                context = .tag
            }
            line += bytes[(at + 1)..<end].count { $0 == UInt8(ascii: "\n") }
            return end
        case let byte where Self.isNameStart(byte) && context == .tag: context = .attributeName
        default: break
        }
        return at + 1
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte & 0xDF) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private mutating func markup(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        for (start, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", "?>"), ("</", ">")] {
            let known = bytes[at...].prefix(start.utf8.count)
            guard start.utf8.starts(with: known) else { continue }
            guard known.count == start.utf8.count else {
                if isLast { break }
                return nil
            }
            context = .until(Array(end.utf8))
            return at + known.count
        }
        context = .elementName
        return at + 1
    }

    /// Replaces references to characters that XML does not allow, as `&#11;`. The parser handles the others.
    private mutating func reference(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        let text = bytes[at...].prefix(16)
        guard let end = text.firstIndex(of: UInt8(ascii: ";")) else { return text.count == 16 || isLast ? at + 1 : nil }
        let digits = String(decoding: text[(at + 1)..<end], as: UTF8.self).lowercased()
        guard digits.hasPrefix("#") else { return at + 1 }
        let isHex = digits.hasPrefix("#x")
        let number = digits.dropFirst(isHex ? 2 : 1)
        guard !number.isEmpty, number.allSatisfy({ isHex ? $0.isHexDigit : ("0"..."9").contains($0) }),
            UInt32(number, radix: isHex ? 16 : 10).map(Self.isInXML) != true
        else { return at + 1 }
        replace(bytes, at..<(end + 1))
        return end + 1
    }

    private static func isInXML(_ value: UInt32) -> Bool {
        value == 9 || value == 10 || value == 13
            || value >= 32 && value != 0xFFFE && value != 0xFFFF && Unicode.Scalar(value) != nil
    }

    private mutating func character(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        let firstByte = bytes[at]
        let count = firstByte >= 0xF0 ? 4 : firstByte >= 0xE0 ? 3 : 2
        let known = bytes[at...].prefix(count)
        // These bytes are not a character, but can be the start of a character.
        guard known.count == count || isLast || known.dropFirst().contains(where: { $0 & 0xC0 != 0x80 }) else {
            return nil
        }
        if let text = String(validating: known, as: UTF8.self), let scalar = text.unicodeScalars.first,
            text.unicodeScalars.count == 1, Self.isInXML(scalar.value)
        {
            if context == .tag { context = .attributeName }
            return at + count
        }
        let bad = known.count == count && count == 3 && known.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 } ? 3 : 1
        replace(bytes, at..<(at + bad))
        return at + bad
    }

    private mutating func replace(
        _ bytes: UnsafeMutableBufferPointer<UInt8>, _ range: Range<Int>, with mark: UInt8 = UInt8(ascii: "?")
    ) {
        if count == 0 { firstLine = line }
        count += 1
        bytes[range].update(repeating: mark)
    }
}
