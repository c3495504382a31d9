import Foundation
package import TrackerCore

/// Reads a file of drinks and delivers each sample. Detects the format: one of the three formats of `export` (tracker
/// spec D4), Apple Health's export (also as a ZIP archive), or a CSV file of a spreadsheet. Parses Apple Health's
/// export in chunks, because it can have gigabytes.
///
/// An incomplete, malformed or other file throws `HealthFileError`. Samples are valid only after `finish` has returned.
/// Records of other types (steps, heart rate) are ignored.
package final class HealthReader {
    /// The maximum length of a JSON or CSV file in bytes: about 80,000 drinks, which need up to 256 MiB of memory.
    private static let textLimit = 24 << 20
    /// The number of bytes by which the kind of a file is detected.
    private static let headLength = 16

    private enum Input {
        case undetected
        /// A JSON or CSV file, which `finish` parses from `bytes`.
        case text
        case xml(AppleHealthReader)
        case zip(ZipReader)
    }

    /// The format; `nil` until detected.
    package private(set) var format: HealthFiles.Format?
    /// Notes about skipped or replaced content, one sentence each.
    package private(set) var remarks: [String] = []
    /// The time of the export, if the file has it (Apple Health only).
    package private(set) var exportedAt: Instant?

    private let deliver: (HealthSample) throws -> Void
    private var input = Input.undetected
    /// The bytes of the file so far, unless it is Apple Health's export.
    private var bytes: [UInt8] = []

    /// - Parameter deliver: receives each sample in the order of the file. If it throws, reading ends.
    package init(deliver: @escaping (HealthSample) throws -> Void) { self.deliver = deliver }

    package func feed(_ piece: UnsafeRawBufferPointer) throws {
        switch input {
        case .xml(let reader): return try reader.feed(piece)
        case .zip(let archive): return try archive.append(piece)
        case .text, .undetected: bytes += piece
        }
        guard bytes.count <= Self.textLimit else {
            throw HealthFileError(
                reason: "The file is longer than \(Self.textLimit >> 20) MiB. Split it into several files.")
        }
        if case .undetected = input, bytes.count >= Self.headLength { try detect() }
    }

    /// Ends the file. Throws if it is incomplete.
    package func finish() throws {
        if case .undetected = input { try detect() }
        switch input {
        case .xml(let reader): try finish(reader)
        case .zip(let archive):
            let reader = try AppleHealthReader(deliver: deliver)
            try archive.readExport(FileHead.isHealthData) { try reader.feed($0) }
            try finish(reader)
        case .text, .undetected: try read(FileHead.utf8(bytes))
        }
    }

    package static func samples(_ bytes: [UInt8]) throws -> [HealthSample] {
        var samples: [HealthSample] = []
        let reader = HealthReader { samples.append($0) }
        try bytes.withUnsafeBytes { try reader.feed($0) }
        try reader.finish()
        return samples
    }

    package static func samples(_ text: String) throws -> [HealthSample] { try samples(Array(text.utf8)) }

    private static let empty = HealthFileError(reason: "The file is empty.")

    private func detect() throws {
        try FileHead.refuseOtherKinds(bytes)
        if bytes.starts(with: ZipReader.signature) {
            let archive = try ZipReader()
            input = .zip(archive)
            try bytes.withUnsafeBytes { try archive.append($0) }
            bytes = []
            return
        }
        let start = FileHead.start(of: bytes)
        guard start < bytes.endIndex else {
            guard bytes.count <= FileHead.limit else { throw Self.empty }
            return
        }
        guard bytes[start] == UInt8(ascii: "<") else { return input = .text }
        let reader = try AppleHealthReader(deliver: deliver)
        input = .xml(reader)
        try bytes.withUnsafeBytes { try reader.feed($0) }
        bytes = []
    }

    private func finish(_ reader: AppleHealthReader) throws {
        try reader.finish()
        (format, remarks, exportedAt) = (.appleHealth, reader.remarks, reader.exportedAt)
    }

    private func read(_ text: [UInt8]) throws {
        switch text.first(where: { !FileHead.isSpace($0) }) {
        case nil: throw Self.empty
        case UInt8(ascii: "<"):
            let reader = try AppleHealthReader(deliver: deliver)
            try text.withUnsafeBytes { try reader.feed($0) }
            try finish(reader)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            format = .json
            try JSONDrinks.read(text, deliver)
        default:
            format = .csv
            try CSVReader.read(text, deliver)
        }
    }
}

/// Detection of a file's kind from its beginning.
enum FileHead {
    /// The number of bytes within which the root element of an XML document must begin.
    static let limit = 1 << 20
    private static let byteOrderMark = Array("\u{FEFF}".utf8)

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// The index of the first byte after a UTF-8 byte order mark and white space.
    static func start(of head: [UInt8]) -> Int {
        let text = head.dropFirst(head.starts(with: byteOrderMark) ? byteOrderMark.count : 0)
        return text.firstIndex { !isSpace($0) } ?? text.endIndex
    }

    /// Rejects files that users confuse with an export, with advice.
    static func refuseOtherKinds(_ head: [UInt8]) throws(HealthFileError) {
        if head.starts(with: [0x1F, 0x8B]) {
            throw HealthFileError(reason: "The file is compressed with gzip. Unpack it first.", code: "compressedFile")
        }
        if head.starts(with: Array("SQLite format 3\0".utf8)) {
            throw HealthFileError(reason: "The file is a database, not a list of drinks.", code: "databaseFile")
        }
    }

    /// The text without a byte order mark. Converts UTF-16, which spreadsheets write, and does not validate UTF-8.
    static func utf8(_ bytes: [UInt8]) throws(HealthFileError) -> [UInt8] {
        if bytes.starts(with: byteOrderMark) { return Array(bytes.dropFirst(byteOrderMark.count)) }
        let isMarked = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
        // UTF-16 without a byte order mark begins with an ASCII character, which has one zero byte.
        guard isMarked || bytes.count >= 2 && (bytes[0] == 0) != (bytes[1] == 0) else { return bytes }
        let isLittleEndian = isMarked ? bytes[0] == 0xFF : bytes[1] == 0
        let units = stride(from: isMarked ? 2 : 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isLittleEndian ? second << 8 | first : first << 8 | second
        }
        guard bytes.count % 2 == 0, let text = String(validating: units, as: UTF16.self) else {
            throw HealthFileError(reason: "The UTF-16 is not valid: the file is truncated or damaged.")
        }
        return Array(text.utf8)
    }

    /// Whether a file is an Apple Health export; `nil` if more bytes are needed.
    static func isHealthData(_ head: [UInt8]) -> Bool? {
        let start = start(of: head)
        guard head.count <= limit, start == head.endIndex || head[start] == UInt8(ascii: "<") else { return false }
        var prolog = HealthProlog()
        return head.withUnsafeBytes { prolog.root(appending: $0) } == nil ? nil : true
    }
}

/// The beginning of an Apple Health export, up to its root element. Its bytes arrive in parts.
struct HealthProlog {
    private static let rootName = "<HealthData".utf8

    private(set) var bytes: [UInt8] = []
    /// The index of the first byte that has not been searched.
    private var position = 0
    private var isInComment = false

    /// Appends bytes, and returns the index of the root element; `nil` if it has not begun. Skips comments, which can
    /// contain its name.
    mutating func root(appending part: UnsafeRawBufferPointer) -> Int? {
        bytes += part
        // The byte after the name decides whether the name is complete, so wait for it.
        while position + Self.rootName.count < bytes.count {
            let rest = bytes[position...]
            if isInComment, rest.starts(with: "-->".utf8) {
                isInComment = false
            } else if !isInComment, rest.starts(with: "<!--".utf8) {
                isInComment = true
                // The end of the comment must not use the hyphens of its beginning.
                position += 3
            } else if !isInComment, rest.starts(with: Self.rootName) {
                let next = bytes[position + Self.rootName.count]
                if FileHead.isSpace(next) || ">/".utf8.contains(next) { return position }
            }
            position += 1
        }
        return nil
    }
}
