package import Bluetooth

/// Reads a capture of any format as a stream: bytes in, packets out. Memory use does not depend on the file size.
///
/// The caller keeps a window of the file, calls `read(_:isLast:_:)` with it, removes the consumed bytes and appends new
/// ones. The reader stores no bytes. The first bytes of the file determine its format, never its name.
package struct CaptureReader {
    /// The maximum length of a record or line in bytes, which limits the window. Longer records are rejected.
    package static let longestRecord = Int(longestPacket) + 65_536
    /// The properties of the file, as far as it was read. `format` is set when the content is recognised.
    package private(set) var info = CaptureFileInfo()
    private var parser: (any FormatParser)?
    private var hasFailed = false

    package init() {}

    /// The formats in the order in which they are tried: magic numbers first, text last.
    private static let formats: [any FormatParser.Type] = [
        BtsnoopParser.self, PcapParser.self, PcapngParser.self, PacketLoggerParser.self, TsharkJSONParser.self,
        HexDumpParser.self, MonitorTextParser.self, NRFConnectParser.self, HexTextParser.self, EmbeddedLogParser.self,
    ]

    /// Reads the whole records at the beginning of `window`.
    /// - Parameters:
    ///   - window: the bytes of the file after those consumed so far.
    ///   - isLast: whether no bytes follow `window`.
    ///   - body: called for each record in order.
    /// - Returns: the number of consumed bytes.
    /// - Throws: `CaptureError`, once, after everything before it was delivered; or the error of `body`.
    package mutating func read(_ window: RawSpan, isLast: Bool, _ body: PacketSink) throws -> Int {
        guard !hasFailed else { return window.byteCount }
        guard var current = try parser ?? Self.detect(window, isLast: isLast) else { return 0 }
        parser = nil
        hasFailed = true
        do {
            let consumed = try current.read(window, isLast: isLast, info: &info, body)
            info.offset += consumed
            (parser, hasFailed) = (current, false)
            return consumed
        } catch let error as CaptureError {
            info.offset = max(info.offset, error.offset)
            throw error
        }
    }

    /// Finds the parser for the file's first bytes; `nil` if more bytes are needed. All formats get at most
    /// `longestRecord` bytes, so that a pipe gives the same result as a file.
    private static func detect(_ window: RawSpan, isLast: Bool) throws -> (any FormatParser)? {
        let head = window.extracting(0..<min(window.byteCount, longestRecord))
        let canWait = !isLast && head.byteCount < longestRecord
        if let error = UnsupportedFile.error(head, isLast: !canWait) { throw error }
        for format in formats {
            switch format.detect(head, isLast: !canWait) {
            case .match: return format.init()
            case .noMatch: continue
            case .invalid(let error): throw error
            case .undecided: if canWait { return nil }
            }
        }
        if canWait, head.byteCount < 512 { return nil }
        throw UnsupportedFile.unrecognised(head)
    }
}

/// The parser of one format: a state machine over a window of the file.
protocol FormatParser: Sendable {
    /// Checks whether a file that begins with `head` has this format.
    static func detect(_ head: RawSpan, isLast: Bool) -> Detection
    init()
    /// See `CaptureReader.read`. `info.offset` is the offset of the window in the file.
    mutating func read(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo, _ body: PacketSink) throws -> Int
}

/// The result of checking a file's first bytes for one format; `undecided` if more bytes are needed.
enum Detection: Hashable {
    case match
    case noMatch
    /// The file has this format, but is damaged or of an unsupported variant.
    case invalid(CaptureError)
    case undecided
}

/// Recognises files of other kinds that users pass as captures, and creates an error message with advice.
enum UnsupportedFile {
    private static let kinds: [(magic: [UInt8], at: Int, sentence: String)] = [
        ([0x1F, 0x8B], 0, "this is a gzip file: unpack it first (gunzip -c FILE)"),
        (
            Array("PK\u{3}\u{4}".utf8), 0,
            """
            this is a zip file: unpack it first; in an Android bug report the log is \
            FS/data/misc/bluetooth/logs/btsnoop_hci.log
            """
        ),
        ([0x1F, 0x9D], 0, "this is a compressed file (.Z): unpack it first (gunzip -c FILE)"),
        ([0x04, 0x22, 0x4D, 0x18], 0, "this is an lz4 file: unpack it first (lz4 -dc FILE)"),
        ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], 0, "this is a 7z file: unpack it first (7z x FILE)"),
        (Array("Rar!\u{1A}\u{7}".utf8), 0, "this is a rar file: unpack it first (unrar x FILE)"),
        (Array("ustar".utf8), 257, "this is a tar file: unpack it first (tar -xf FILE)"),
        (Array("BZh".utf8), 0, "this is a bzip2 file: unpack it first (bunzip2 -c FILE)"),
        ([0xFD] + Array("7zXZ".utf8), 0, "this is an xz file: unpack it first (xz -dc FILE)"),
        ([0x28, 0xB5, 0x2F, 0xFD], 0, "this is a zstd file: unpack it first (zstd -dc FILE)"),
        (Array("SQLite format 3\0".utf8), 0, "this is a SQLite database, not a capture"),
        ([0x7F] + Array("ELF".utf8), 0, "this is a program, not a capture"),
        (Array("%PDF".utf8), 0, "this is a PDF, not a capture"),
        (
            Array("snoop\0\0\0".utf8), 0,
            "this is a Solaris snoop file of network packets, not a Bluetooth capture"
        ),
        (
            Array("--- BEGIN:BTSNOOP_LOG_SUMMARY".utf8), 0,
            "this is the packed log of a bug report (btsnooz): convert it with Android's btsnooz.py first"
        ),
        ([0xFF, 0xFE], 0, "this is text in UTF-16: convert it first (iconv -f UTF-16 -t UTF-8 FILE)"),
        ([0xFE, 0xFF], 0, "this is text in UTF-16: convert it first (iconv -f UTF-16 -t UTF-8 FILE)"),
    ]

    /// The error for an empty file or a known kind of file that is not a capture; `nil` for any other file.
    static func error(_ head: RawSpan, isLast: Bool) -> CaptureError? {
        if head.byteCount == 0, isLast { return error("the file is empty") }
        let found = kinds.first { kind in
            head.byteCount >= kind.at + kind.magic.count
                && kind.magic.indices.allSatisfy { head.u8(kind.at + $0) == kind.magic[$0] }
        }
        return found.map { error($0.sentence) }
    }

    static func unrecognised(_ head: RawSpan) -> CaptureError {
        let formats =
            """
            supported formats: btsnoop, pcap, pcapng, PacketLogger, hex text, nRF Connect logs, and dumps of \
            tshark and hcidump -R
            """
        let start = head.extracting(0..<min(head.byteCount, 512)).bytes
        if !start.contains(where: { $0 < 0x09 || (0x0E..<0x20).contains($0) }) {
            let text = String(decoding: start, as: UTF8.self)
            if ["<pdml", "<psml", "{\"index\":{"].contains(where: { text.contains($0) }) {
                return error(
                    """
                    this is an export of Wireshark as XML or for Elasticsearch: use the capture itself, or create \
                    JSON with tshark -T json -x
                    """)
            }
            return error("this text is not a capture; \(formats)")
        }
        let hex = start.prefix(8).map(\.hexDigits).joined(separator: " ")
        return error("not a capture (the first bytes are \(hex)); \(formats)")
    }

    private static func error(_ sentence: String) -> CaptureError { CaptureError(.unrecognised, at: 0, sentence) }
}

// Numbers at an offset. The caller must check the length: an offset past the end traps.
extension RawSpan {
    func u8(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    func u16(_ offset: Int, bigEndian: Bool) -> UInt16 {
        let value = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)
        return bigEndian ? UInt16(bigEndian: value) : UInt16(littleEndian: value)
    }

    func u32(_ offset: Int, bigEndian: Bool) -> UInt32 {
        let value = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return bigEndian ? UInt32(bigEndian: value) : UInt32(littleEndian: value)
    }

    func i64(_ offset: Int, bigEndian: Bool) -> Int64 {
        let value = unsafeLoadUnaligned(fromByteOffset: offset, as: Int64.self)
        return bigEndian ? Int64(bigEndian: value) : Int64(littleEndian: value)
    }

    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    func has(_ bytes: StaticString, at offset: Int) -> Bool {
        guard offset >= 0, byteCount - offset >= bytes.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.utf8CodeUnitCount where u8(offset + index) != bytes.utf8Start[index] { return false }
        return true
    }
}
