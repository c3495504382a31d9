/// Checks whether a single value can be a header, a message or log entries, independent of earlier values.
enum LogValueChecks {
    static func header(_ value: some RandomAccessCollection<UInt8>) -> (operation: FrameOperation, length: Int)? {
        guard value.count >= Frame.headerSize else { return nil }
        let bytes = Array(value.prefix(Frame.headerSize))
        let operation = FrameOperation(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        return operation.isKnown ? (operation, Int(bytes[2]) << 8 | Int(bytes[3])) : nil
    }

    /// Whether the value is a complete RT or RP frame (protocol spec P3.4, rule 2).
    static func isWholeMessage(_ value: some RandomAccessCollection<UInt8>) -> Bool {
        guard let (operation, length) = header(value) else { return false }
        return (operation == .report || operation == .response) && value.count == Frame.headerSize + length
    }

    /// Whether these 1 to 3 bytes can start a bottle's frame.
    static func isHeaderStart(_ value: some RandomAccessCollection<UInt8>) -> Bool {
        guard (1..<Frame.headerSize).contains(value.count) else { return false }
        return [FrameOperation.put, .response, .report].contains {
            $0.letters.prefix(value.count).elementsEqual(value.prefix(2))
        }
    }

    /// Whether an entry of this size has whole records: 1 + 13k with k at least 1.
    static func isRecordEntry(_ size: UInt8) -> Bool { size > 1 && (Int(size) - 1) % DrinkRecord.size == 0 }

    /// Whether the value has only whole log entries: `(n 06 record{k})+`, k at least 1.
    static func isWholeEntries(_ value: [UInt8]) -> Bool {
        var index = 0
        while index < value.count {
            guard index + 1 < value.count, isRecordEntry(value[index]), value[index + 1] == EntryType.log.rawValue
            else { return false }
            index += Int(value[index]) + 1
        }
        return index == value.count && index > 0
    }

    /// Whether a value that starts with PT is a frame header. Amounts and TDS values can also have the bytes of PT.
    /// Therefore the length field must be a sum of log entries, and the first entry must fit.
    static func isLogHeader(_ value: [UInt8]) -> Bool {
        guard let (operation, length) = header(value), operation == .put else { return false }
        guard length > 0 else { return value.count == Frame.headerSize }
        if (try? Frame(decoding: value).entries()) != nil { return true }
        guard isSumOfEntries(length), value.count - Frame.headerSize <= length else { return false }
        guard value.count > 4 else { return true }
        guard isRecordEntry(value[4]), Int(value[4]) + 1 <= length else { return false }
        return value.count == 5 || value[5] == EntryType.log.rawValue
    }

    /// Whether a log of this length is possible: 13 bytes per record + 2 per entry, with 1 to 19 records per entry.
    static func isSumOfEntries(_ length: Int) -> Bool {
        let maximumEntries = length / (DrinkRecord.size + 2)
        guard maximumEntries >= 1 else { return false }
        return (1...maximumEntries).contains { entries in
            let records = length - 2 * entries
            return records % DrinkRecord.size == 0 && records / DrinkRecord.size <= 19 * entries
        }
    }
}
