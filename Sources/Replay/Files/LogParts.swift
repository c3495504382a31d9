import Bluetooth

extension ConversationReassembler {
    /// The reassembly of captures of bottles: it knows what a drink log can hold.
    package static func ofBottles() -> ConversationReassembler { ConversationReassembler(fits: LogParts.fits) }
}

/// What can stand where in a notification of the drink log: the months, days, hours, minutes and seconds of its records
/// stand at fixed places (protocol law P3.2), and no bottle writes a 61st second, also one whose clock is lost.
enum LogParts {
    /// Behind L2CAP's length and channel, and ATT's opcode and handle.
    private static let value = 7
    private static let recordSize = 13
    /// The highest byte of each field that has one.
    private static let highest: [Int: UInt8] = [1: 12, 2: 31, 3: 23, 4: 59, 5: 59]

    static func fits(begun: [UInt8], at offset: Int, part: [UInt8]) -> Bool {
        guard let records = records(begun) else { return true }
        for (index, byte) in part.enumerated()
        where offset + index >= records.lowerBound && offset + index < records.upperBound {
            if let most = highest[(offset + index - records.lowerBound) % recordSize], byte > most { return false }
        }
        return true
    }

    /// Where the records of a frame stand that can be nothing but a notification of one whole entry of the log.
    private static func records(_ begun: [UInt8]) -> Range<Int>? {
        guard begun.count >= value + 2, begun[2] == 4, begun[3] == 0, begun[4] == 0x1B else { return nil }
        let end = 4 + (Int(begun[0]) | Int(begun[1]) << 8)
        let isFirst = begun[value] == 0x50 && begun[value + 1] == 0x54
        let entry = isFirst ? value + 4 : value
        guard begun.count >= entry + 2, begun[entry + 1] == 0x06, entry + 1 + Int(begun[entry]) == end else {
            return nil
        }
        // The log's own length holds this entry at least.
        if isFirst, (Int(begun[value + 2]) << 8 | Int(begun[value + 3])) < Int(begun[entry]) + 1 { return nil }
        let size = Int(begun[entry]) - 1
        guard size > 0, size % recordSize == 0 else { return nil }
        return entry + 2..<end
    }
}
