/// A frame that is being received, with at most 65,535 payload bytes.
struct PartialFrame {
    let operation: FrameOperation
    let length: Int
    private(set) var payload: [UInt8] = []
    /// The payload including repeated values; `nil` if a value was as long as a record. See `appendRepeat`.
    private(set) var payloadWithRepeats: [UInt8]?
    /// The offset of the first incomplete entry.
    private(set) var entryStart = 0
    private var scanFailure: DecodeFailure?
    /// The payload size at which a value looked like the start of an entry inside another entry. This also happens when
    /// notifications are truncated to the MTU. Bytes after it are trusted only if the frame completes.
    private(set) var suspectFrom: Int?
    /// The payload sizes at which values ended inside a record.
    private(set) var splitOffsets: [Int] = []
    private var largestValue = 0
    private var parts: [PayloadPart] = []

    init(operation: FrameOperation, length: Int) {
        self.operation = operation
        self.length = length
        payload.reserveCapacity(min(length, 8192))
    }

    /// The reason why the bytes are not a frame, neither with nor without repeated values; `nil` if they can be one.
    var failure: DecodeFailure? { payloadWithRepeats == nil ? scanFailure : nil }
    var isComplete: Bool { payload.count == length && scanFailure == nil }
    var remaining: Int { length - payload.count }
    var isAtBoundary: Bool { entryStart == payload.count }

    /// Appends the part of a value that belongs to the frame, and returns its length.
    mutating func append(_ value: ArraySlice<UInt8>, valueSize: Int, _ packet: PayloadPart?) -> Int {
        let part = value.prefix(remaining)
        largestValue = max(largestValue, valueSize)
        if operation == .put, !isAtBoundary {
            splitOffsets.append(payload.count)
            if suspectFrom == nil, Self.looksLikeEntry(part) { suspectFrom = payload.count }
        }
        payload += part
        payloadWithRepeats? += part
        scan()
        adoptCompleteRepeats()
        addPart(packet, upTo: payload.count)
        return part.count
    }

    /// Stores the packet of the last payload bytes, if the caller named one.
    mutating func addPart(_ packet: PayloadPart?, upTo end: Int) {
        guard var packet, end > parts.last?.end ?? 0 else { return }
        packet.end = end
        parts.append(packet)
    }

    /// Adds a repeated value, which usually counts once (protocol spec P3.4, rule 7). If all values are shorter than a
    /// record, they can also be equal log bytes (`00`, `00`). Then the payload is kept with and without repeats. The
    /// variant with repeats applies if it fills the frame with plausible records only.
    mutating func appendRepeat(_ value: [UInt8], _ packet: PayloadPart?) {
        largestValue = max(largestValue, value.count)
        guard largestValue < DrinkRecord.size else { return }
        payloadWithRepeats = (payloadWithRepeats ?? payload) + value
        adoptCompleteRepeats()
        addPart(packet, upTo: payload.count)
    }

    private mutating func adoptCompleteRepeats() {
        guard let repeats = payloadWithRepeats else { return }
        guard largestValue < DrinkRecord.size, repeats.count <= length else {
            payloadWithRepeats = nil
            return
        }
        guard repeats.count == length, payload.count < length, Self.isPlausible(repeats, operation) else { return }
        payloadWithRepeats = nil
        payload = repeats
        entryStart = 0
        scanFailure = nil
        scan()
    }

    /// Checks the entries of a PT frame. Other frames are checked when they are complete.
    private mutating func scan() {
        while operation == .put, scanFailure == nil, entryStart < payload.count {
            let size = Int(payload[entryStart])
            let offset = Frame.headerSize + entryStart
            if size < 1 {
                scanFailure = DecodeFailure(
                    problem: "an entry has no type byte (n = 0)", offset: offset, needed: 1, found: 0)
            } else if entryStart + 1 + size > length {
                scanFailure = DecodeFailure(
                    problem: "an entry runs past the end of its frame", offset: offset, needed: size,
                    found: length - entryStart - 1)
            } else if entryStart + 1 < payload.count, payload[entryStart + 1] == EntryType.log.rawValue,
                (size - 1) % DrinkRecord.size != 0
            {
                scanFailure = DecodeFailure(
                    problem: "a log entry does not have whole records of 13 bytes", offset: offset,
                    needed: DrinkRecord.size, found: (size - 1) % DrinkRecord.size)
            }
            guard scanFailure == nil, entryStart + 1 + size <= payload.count else { return }
            entryStart += 1 + size
        }
    }

    private static func looksLikeEntry(_ value: ArraySlice<UInt8>) -> Bool {
        guard value.count >= 2 else { return false }
        return LogValueChecks.isRecordEntry(value[value.startIndex])
            && value[value.startIndex + 1] == EntryType.log.rawValue
    }

    private static func isPlausible(_ payload: [UInt8], _ operation: FrameOperation) -> Bool {
        guard let entries = try? Entry.sequence(decoding: payload) else { return false }
        guard operation == .put else { return true }
        return entries.allSatisfy { entry in
            guard entry.type == .log else { return true }
            guard entry.data.count % DrinkRecord.size == 0 else { return false }
            return DrinkRecord.all(in: entry.data).allSatisfy { !$0.isSuspect && $0.isDrink }
        }
    }
}

extension PartialFrame {
    /// The transfer so far. An incomplete frame has records only up to the first sign of a loss: with a small MTU, a
    /// lost notification shifts all following bytes.
    var transfer: LogTransfer {
        var transfer = LogTransfer(
            recordBytes: records(upTo: isComplete ? payload.count : trustedEnd), payload: payload, length: length,
            isComplete: isComplete)
        transfer.isSplitInsideRecords = !splitOffsets.isEmpty
        transfer.parts = parts
        return transfer
    }

    /// The records that end at or before `limit`. Skips entries of other types; the last entry can be incomplete.
    private func records(upTo limit: Int) -> [UInt8] {
        var records: [UInt8] = []
        records.reserveCapacity(limit)
        var index = 0
        while index + 1 < limit, index <= entryStart, !(scanFailure != nil && index == entryStart) {
            let end = min(index + 1 + Int(payload[index]), limit)
            let data = payload[(index + 2)..<max(end, index + 2)]
            if payload[index + 1] == EntryType.log.rawValue {
                records += data.prefix(data.count / DrinkRecord.size * DrinkRecord.size)
            }
            index += 1 + Int(payload[index])
        }
        return records
    }

    /// The payload size before the first sign of a loss: a value that looks like a new entry, or an impossible date in
    /// a log split inside records. The record before it is also excluded if it was split.
    private var trustedEnd: Int {
        let end = min(payload.count, suspectFrom ?? payload.count)
        guard !splitOffsets.isEmpty else { return end }
        var entry = 0
        var lastValidRecord = 0
        while entry + 1 < end, entry <= entryStart {
            let next = entry + 1 + Int(payload[entry])
            var record = entry + 2
            while payload[entry + 1] == EntryType.log.rawValue, record + DrinkRecord.size <= min(next, end) {
                let range = record..<(record + DrinkRecord.size)
                if (try? DrinkRecord(decoding: payload[range]))?.isSuspect ?? true {
                    return splitOffsets.contains { (lastValidRecord + 1)..<record ~= $0 } ? lastValidRecord : record
                }
                lastValidRecord = record
                record += DrinkRecord.size
            }
            entry = next
        }
        return end
    }
}
