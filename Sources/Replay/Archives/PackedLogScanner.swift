import Foundation

/// Finds packed Bluetooth logs (btsnooz) in the text of a bug report or of `dumpsys`, block by block.
///
///     --- BEGIN:BTSNOOP_LOG_SUMMARY (8192 bytes in) ---
///     base64, line by line
///     --- END:BTSNOOP_LOG_SUMMARY ---
///
/// Source: Android's `btif_debug_btsnoop.cc` and its script `btsnooz.py`.
struct PackedLogScanner {
    struct Log {
        var bytes: [UInt8] = []
        var readingError: String?
    }

    /// The number of logs found so far.
    private(set) var count = 0
    /// The maximum size of a log in bytes. Phones keep 256 KiB before packing.
    private static let longestLog = 16 << 20

    private var line: [UInt8] = []
    private var isInside = false
    private var log = Log()
    /// The Base64 digits of the log.
    private var digits: [UInt8] = []

    private static let begin = Array("--- BEGIN:BTSNOOP_LOG_SUMMARY".utf8)
    private static let end = Array("--- END:BTSNOOP_LOG_SUMMARY".utf8)
    /// The maximum number of bytes of a line that are stored. Lines of a log have 64 to 256 characters.
    private static let longestLine = 4096

    /// - Parameter body: receives each log that ends in these bytes.
    mutating func scan(_ piece: UnsafeRawBufferPointer, _ body: (Log) throws -> Void) rethrows {
        var rest = piece[...]
        while let first = rest.firstIndex(of: 0x0A) {
            takePart(rest[..<first])
            try endLine(body)
            rest = rest[(first + 1)...]
        }
        takePart(rest)
    }

    mutating func finish(_ body: (Log) throws -> Void) rethrows {
        try endLine(body)
        guard isInside else { return }
        try close(readingError: "the text ends in the middle of the packed log", body)
    }

    private mutating func takePart(_ part: Slice<UnsafeRawBufferPointer>) {
        line += part.prefix(Self.longestLine - line.count)
    }

    private mutating func endLine(_ body: (Log) throws -> Void) rethrows {
        defer { line.removeAll(keepingCapacity: true) }
        if !isInside {
            isInside = Self.hasMarker(line, Self.begin)
        } else if Self.hasMarker(line, Self.end) {
            try close(readingError: nil, body)
        } else if Self.hasMarker(line, Self.begin) {
            try close(readingError: "another packed log begins in the middle of it", body)
            isInside = true
        } else {
            parseBase64()
        }
    }

    private mutating func close(readingError: String?, _ body: (Log) throws -> Void) rethrows {
        // Padding is optional. A single last digit is not enough for a byte.
        if digits.count % 4 == 1 { digits.removeLast() }
        digits += [UInt8](repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        log.bytes = Data(base64Encoded: Data(digits)).map { [UInt8]($0) } ?? []
        log.readingError = log.readingError ?? readingError
        let finished = log
        (log, digits, isInside) = (Log(), [], false)
        count += 1
        try body(finished)
    }

    private mutating func parseBase64() {
        guard log.readingError == nil else { return }
        for byte in line {
            switch byte {
            case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "/"): digits.append(byte)
            case UInt8(ascii: "-"): digits.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): digits.append(UInt8(ascii: "/"))
            case 0x20, 0x09, 0x0D, UInt8(ascii: "="): continue
            default:
                log.readingError = "invalid Base64 in the packed log"
                return
            }
        }
        if digits.count / 4 * 3 > Self.longestLog { log.readingError = "the packed log is larger than the limit" }
    }

    /// Whether the marker starts within the first 64 bytes of the line. Some tools write a time before it.
    private static func hasMarker(_ line: [UInt8], _ marker: [UInt8]) -> Bool {
        guard line.count >= marker.count else { return false }
        return (0...min(64, line.count - marker.count)).contains { line[$0...].starts(with: marker) }
    }
}
