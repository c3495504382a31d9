import TrackerCore

/// Reads a file of drinks as it comes, chunk by chunk, and hands out each sample: the three formats of ours (tracker
/// law D4), Apple Health's own export (as the ZIP archive that a phone writes, too), and what spreadsheets make of the
/// CSV. The format is recognised. However large
/// the file, what is kept of it is one row.
///
/// A file that is cut, malformed or of another kind ends in a `HealthFileError`; so what was handed out before counts
/// only when `finish` has returned. Records of other types (steps, heart rate) are passed over.
package final class HealthReader {
    /// `nil` until enough of the file was seen.
    package private(set) var format: HealthFiles.Format?
    private let deliver: (HealthSample) throws -> Void
    private var text = TextDecoder()
    /// What came before the format was known.
    private var head: [UInt8] = []
    private var reader: (any FormatReader)?
    /// The first bytes, until they show whether the file is a ZIP archive.
    private var start: [UInt8]? = []
    private var zip: ZipReader?
    /// What of the file was skipped or replaced, a sentence each.
    package var remarks: [String] { reader?.remarks ?? [] }

    /// The time of the export, where the file has it: Apple Health's does.
    package var exportedAt: Instant? { reader?.exportedAt }

    /// - Parameter deliver: takes each sample in the file's order; what it throws ends the reading.
    package init(deliver: @escaping (HealthSample) throws -> Void) { self.deliver = deliver }

    /// Takes the next bytes, as many as there are.
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

    /// The file ended here: is it whole?
    package func finish() throws {
        if let start { try open(start) }
        try zip?.finish()
        try text.finish { try take($0) }
        if reader == nil { try begin(isLast: true) }
        try reader?.finish()
    }

    /// A whole file at once.
    package static func samples(_ bytes: [UInt8]) throws -> [HealthSample] {
        var samples: [HealthSample] = []
        let reader = HealthReader { samples.append($0) }
        try bytes.withUnsafeBytes { try reader.feed($0) }
        try reader.finish()
        return samples
    }

    /// All samples of a whole document.
    package static func samples(_ text: String) throws -> [HealthSample] { try samples(Array(text.utf8)) }

    // MARK: - Parts

    private func take(_ bytes: UnsafeRawBufferPointer) throws {
        if let reader { return try reader.feed(bytes) }
        head += bytes
        try begin(isLast: false)
    }

    /// Looks whether the head shows the format by now; if so, its reader gets the head and all that follows.
    private func begin(isLast: Bool) throws {
        try FileHead.refuseOtherKinds(head)
        let start = head.firstIndex { !FileHead.isSpace($0) } ?? head.endIndex
        let line = 1 + head[..<start].count { $0 == UInt8(ascii: "\n") }
        switch start < head.endIndex ? head[start] : nil {
        case nil:
            guard isLast || head.count > FileHead.limit else { return }
            throw HealthFileError(reason: "The file is empty.")
        case UInt8(ascii: "<"):
            // The document type is left out: Apple's is not even well-formed, and without one there are no entities to
            // expand.
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

/// What reads one format, chunk by chunk, in UTF-8.
protocol FormatReader: AnyObject {
    func feed(_ bytes: UnsafeRawBufferPointer) throws
    /// - Throws: `HealthFileError` where the file is cut here.
    func finish() throws
    /// What was skipped or replaced, a sentence each.
    var remarks: [String] { get }
    /// The time of the export, where the file has it.
    var exportedAt: Instant? { get }
}

extension FormatReader {
    var exportedAt: Instant? { nil }
    var remarks: [String] { [] }
}

/// The beginning of a file, from which its kind is told.
enum FileHead {
    /// A head that tells nothing within so many bytes is refused.
    static let limit = 1 << 20

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// What may stand between JSON's parts (RFC 8259, section 2).
    static func isJSONSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// Files that people take for an export, with what to do instead.
    static func refuseOtherKinds(_ head: [UInt8]) throws(HealthFileError) {
        if head.starts(with: [0x1F, 0x8B]) {
            throw HealthFileError(reason: "This is compressed by gzip: unpack it first.", code: "compressedFile")
        }
        if head.starts(with: Array("SQLite format 3\0".utf8)) {
            throw HealthFileError(reason: "This is a database, and no list of drinks.", code: "databaseFile")
        }
    }

    /// The prolog of an XML document and what came behind it, the document type replaced by its line breaks. `nil`
    /// until the root element begins, at `root`.
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
        if isLast { throw HealthFileError(reason: "The document has no element: the file is cut or not XML.") }
        guard bytes.count <= limit else {
            throw HealthFileError(
                reason: "The document begins with more than \(limit >> 20) MB of comments and declarations.")
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    /// The index behind the first occurrence of a text. Behind brackets: of one that follows the `]` of the first `[`
    /// before it.
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
