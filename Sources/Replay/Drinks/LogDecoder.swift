import Bluetooth
import BottleProtocol
import Glibc

/// `DrinkRecord.size` as a literal, because a division by a value of another module would be slow.
private let recordSize = 13

/// Whole records of one log transfer, complete or not.
struct RecordBatch {
    /// The received bytes with the records.
    var bytes: [UInt8]
    /// The packets with the records, in order.
    var sources: [Source]
    /// Whether the whole frame arrived. The records are complete in any case.
    var isWholeFrame: Bool

    struct Source {
        /// The offsets of whole records in `bytes`.
        var start: Int
        var end: Int
        var frame: Int
        var time: Duration?
    }

    /// The number of records.
    var count: Int { sources.reduce(0) { $0 + $1.end - $1.start } / recordSize }

    /// Each record's 13 bytes with its packet.
    @inline(__always)
    func forEachRecord(_ body: (UnsafeRawBufferPointer, Source) throws -> Void) rethrows {
        try bytes.withUnsafeBytes { buffer in
            for source in sources {
                var start = source.start
                while start + recordSize <= source.end {
                    try body(UnsafeRawBufferPointer(rebasing: buffer[start..<(start + recordSize)]), source)
                    start += recordSize
                }
            }
        }
    }
}

/// Reassembles drink logs with the packet of each record: `LogAssembler` plus a fast path.
///
/// Nearly every log arrives as the bottle sends it: a header with one entry, then notifications of one whole entry
/// each. The fast path handles these, because a capture can have half a million of them. After any other value,
/// `LogAssembler` handles all values until the log is requested again or the connection ends.
final class LogDecoder {
    // State of the fast path: the open frame, whose values were one whole log entry each.
    private var sources: [RecordBatch.Source] = []
    private var length = 0
    private var received = 0
    /// The values of the open frame. The last value starts at `previous`, and can be a message or of an earlier frame.
    private var values: [UInt8] = []
    private var previous = 0
    private var logAssembler: LogAssembler?

    var isOpen: Bool { length > 0 }

    /// Adds the next value of the response characteristic.
    func receive(_ value: RawSpan, frame: Int, time: Duration?, _ emit: (BottleTraffic) throws -> Void) rethrows {
        if appendNext(value, frame: frame, time: time) { return }
        if logAssembler == nil {
            if isRepeat(value) { return }
            if appendFirstOrLast(value, frame: frame, time: time) {
                if received == length { try endFrame(isWhole: true, emit) }
                return
            }
            if let message = Self.message(value) {
                store(value)
                return try emit(.message(message))
            }
            try leaveFastPath(emit)
        }
        let events = logAssembler?.receive(value.bytes(), from: PayloadPart(frame: frame, time: time)) ?? []
        try Self.forward(events, emit)
    }

    /// Ends an open frame, because the connection has ended or the log is requested again.
    func finish(_ emit: (BottleTraffic) throws -> Void) rethrows {
        if var open = logAssembler {
            logAssembler = nil
            try Self.forward(open.finish(), emit)
        } else if length > 0 {
            try endFrame(isWhole: false, emit)
        }
        values.removeAll(keepingCapacity: true)
        previous = 0
    }

    /// Adds a value that continues an open frame, if it is one whole entry of records and not a repetition.
    /// - Returns: whether the value was added.
    @inline(__always)
    func appendNext(_ value: RawSpan, frame: Int, time: Duration?) -> Bool {
        guard length > 0, value.byteCount >= 2 + recordSize, received + value.byteCount < length, isEntry(value, at: 0),
            !isRepeat(value)
        else { return false }
        append(value, from: 2, frame: frame, time: time)
        return true
    }

    /// Adds a header with one entry of whole records, or the last entry of the open frame.
    private func appendFirstOrLast(_ value: RawSpan, frame: Int, time: Duration?) -> Bool {
        if length > 0 {
            guard received + value.byteCount <= length, isEntry(value, at: 0) else { return false }
            append(value, from: 2, frame: frame, time: time)
            return true
        }
        guard value.byteCount >= Frame.headerSize + 2, value.byte(0) == 0x50, value.byte(1) == 0x54 else {
            return false
        }
        let lengthField = Self.lengthField(value)
        guard value.byteCount - Frame.headerSize <= lengthField, isEntry(value, at: Frame.headerSize) else {
            return false
        }
        length = lengthField
        append(value, from: Frame.headerSize + 2, frame: frame, time: time)
        return true
    }

    private static func lengthField(_ value: RawSpan) -> Int { Int(value.byte(2)) << 8 | Int(value.byte(3)) }

    /// Whether the bytes from `start` are one entry of whole records.
    @inline(__always)
    private func isEntry(_ value: RawSpan, at start: Int) -> Bool {
        let size = value.byteCount - start
        return size >= 2 + recordSize && Int(value.byte(start)) == size - 1
            && value.byte(start + 1) == EntryType.log.rawValue
            && (size - 2) % recordSize == 0
    }

    /// Adds a value to the open frame. Its records begin at `start`.
    @inline(__always)
    private func append(_ value: RawSpan, from start: Int, frame: Int, time: Duration?) {
        store(value)
        received += value.byteCount - start + 2
        sources.append(RecordBatch.Source(start: previous + start, end: values.count, frame: frame, time: time))
    }

    /// Stores a value after those of the open frame, in place of a message or of a value of an earlier frame.
    @inline(__always)
    private func store(_ value: RawSpan) {
        previous = sources.last?.end ?? 0
        if values.count > previous { values.removeSubrange(previous...) }
        value.withUnsafeBytes { values.append(contentsOf: $0) }
    }

    /// Delivers the records of the open frame, and keeps the previous value.
    private func endFrame(isWhole: Bool, _ emit: (BottleTraffic) throws -> Void) rethrows {
        (length, received) = (0, 0)
        defer {
            values.removeSubrange(..<previous)
            previous = 0
            sources.removeAll(keepingCapacity: true)
        }
        try emit(.records(RecordBatch(bytes: values, sources: sources, isWholeFrame: isWhole)))
    }

    /// Whether the value repeats the previous one (protocol spec P3.4, rule 7).
    @inline(__always)
    private func isRepeat(_ value: RawSpan) -> Bool {
        guard !value.isEmpty, value.byteCount == values.count - previous else { return false }
        return value.withUnsafeBytes { new in
            values.withUnsafeBytes { old in
                guard let first = new.baseAddress, let second = old.baseAddress else { return false }
                return memcmp(first, second + previous, new.count) == 0
            }
        }
    }

    /// Decodes a value that is a whole RP or RT frame (protocol spec P3.4, rule 2); `nil` for any other value.
    private static func message(_ value: RawSpan) -> Frame? {
        guard value.byteCount >= Frame.headerSize, value.byte(0) == 0x52,
            value.byte(1) == 0x50 || value.byte(1) == 0x54, lengthField(value) == value.byteCount - Frame.headerSize
        else { return nil }
        return Frame(
            FrameOperation(rawValue: 0x5200 | UInt16(value.byte(1))),
            payload: value.extracting(Frame.headerSize..<value.byteCount).bytes())
    }

    /// Leaves the fast path: passes the values of the open frame to a `LogAssembler`.
    private func leaveFastPath(_ emit: (BottleTraffic) throws -> Void) rethrows {
        var assembler = LogAssembler()
        for (index, source) in sources.enumerated() {
            let start = source.start - 2 - (index == 0 ? Frame.headerSize : 0)
            let packet = PayloadPart(frame: source.frame, time: source.time)
            try Self.forward(assembler.receive(Array(values[start..<source.end]), from: packet), emit)
        }
        values.removeAll(keepingCapacity: true)
        sources.removeAll(keepingCapacity: true)
        (length, received, previous) = (0, 0, 0)
        logAssembler = assembler
    }

    private static func forward(_ events: [AssemblyEvent], _ emit: (BottleTraffic) throws -> Void) rethrows {
        for event in events {
            switch event {
            case .log(let transfer): try emit(.records(RecordBatch(transfer, isWholeFrame: true)))
            case .unfinished(let transfer, _): try emit(.records(RecordBatch(transfer, isWholeFrame: false)))
            case .message(let message): try emit(.message(message))
            case .malformed: try emit(.malformed)
            case .repeated: break
            }
        }
    }
}

extension RecordBatch {
    /// The records of a transfer, each with the packet that completed it.
    fileprivate init(_ transfer: LogTransfer, isWholeFrame: Bool) {
        self.init(bytes: transfer.recordBytes, sources: [], isWholeFrame: isWholeFrame)
        var parts = transfer.parts[...]
        for (index, end) in Self.recordEnds(transfer).enumerated() {
            while parts.count > 1, let part = parts.first, part.end < end { parts.removeFirst() }
            guard let part = parts.first else { return }
            if sources.last?.frame == part.frame {
                sources[sources.count - 1].end = (index + 1) * recordSize
            } else {
                let start = index * recordSize
                sources.append(Source(start: start, end: start + recordSize, frame: part.frame, time: part.time))
            }
        }
    }

    /// The end offset of each record of a transfer in its payload.
    private static func recordEnds(_ transfer: LogTransfer) -> [Int] {
        var ends: [Int] = []
        var at = 0
        let payload = transfer.payload
        while at + 1 < payload.count, ends.count < transfer.count {
            let next = at + 1 + Int(payload[at])
            guard next > at + 1 else { break }
            if payload[at + 1] == EntryType.log.rawValue {
                var end = at + 2 + recordSize
                while end <= min(next, payload.count), ends.count < transfer.count {
                    ends.append(end)
                    end += recordSize
                }
            }
            at = next
        }
        // Records after the end of their frame have no entries around them.
        while ends.count < transfer.count { ends.append((ends.last ?? 0) + recordSize) }
        return ends
    }
}
