/// What every format's reader is inside: a machine over a window of the file.
protocol FormatParser {
    /// Whether a file that begins with `head` is of this format.
    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff
    init()
    /// As `CaptureReader.read`. `facts.offset` is the file offset of the window's first byte.
    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int
}

/// The answers to "is this file yours?".
enum Sniff: Hashable {
    case mine
    case notMine
    /// Mine, and nothing can be done with it.
    case broken(CaptureError)
    /// More bytes are needed to tell.
    case undecided
}

extension CaptureError {
    /// The file ends inside a record.
    /// - Parameters:
    ///   - record: 1-based number of the record, or `nil` where the head of the file is cut.
    ///   - start: file offset at which it begins; `end`: at which the file ends; `needed`: bytes the record has at
    ///     least.
    static func cut(record: Int?, start: Int, end: Int, needed: Int) -> CaptureError {
        let what = record.map { "record \($0)" } ?? "the file's own header"
        return CaptureError(
            .cut, at: start,
            """
            the file ends at byte \(end), in the middle of \(what), which needs \(needed) bytes and has \
            \(end - start); everything before it was read
            """
        )
    }

    /// A record that no format allows to be so long.
    static func tooLong(record: Int, start: Int, length: UInt64) -> CaptureError {
        CaptureError(
            .broken, at: start,
            """
            record \(record) says that it holds \(length) bytes, more than any Bluetooth packet: the file is \
            damaged here; everything before it was read
            """
        )
    }
}

/// No link layer or controller has packets as long as this; the same limit as Wireshark's.
let longestPacket: UInt32 = 262_144
