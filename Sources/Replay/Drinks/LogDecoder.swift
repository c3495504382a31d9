import Bluetooth
import BottleProtocol
import Glibc

/// `DrinkRecord.size` as a literal, because a division by a value of another module would be slow.
private let recordSize = 13

/// Whole records of one log transfer, complete or not.
struct RecordBatch {
    /// The bytes of the records, 13 each.
    var bytes: [UInt8]
    /// The packets with the records, in order.
    var sources: [Source]
    /// Whether the whole frame arrived. The records are complete in any case.
    var isWholeFrame: Bool

    struct Source {
        /// The number of records up to and including this packet's.
        var end: Int
        var frame: Int
        var time: Duration?
    }

    /// Each record's 13 bytes with its packet.
    @inline(__always)
    func forEachRecord(_ body: (UnsafeRawBufferPointer, Source) throws -> Void) rethrows {
        try bytes.withUnsafeBytes { buffer in
            var index = 0
            for source in sources {
                while index < source.end, (index + 1) * recordSize <= buffer.count {
                    try body(
                        UnsafeRawBufferPointer(
                            rebasing: buffer[(index * recordSize)..<((index + 1) * recordSize)]), source)
                    index += 1
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
    private var records: [UInt8] = []
    private var sources: [RecordBatch.Source] = []
    private var length = 0
    private var received = 0
    /// The previous value, if it is not part of the open frame. Otherwise `lastSize` is its size, and its records are
    /// the last ones of `records`.
    private var previous: [UInt8] = []
    private var lastSize = 0
    private var logAssembler: LogAssembler?

    var isOpen: Bool { length > 0 }

    /// Adds the next value of the response characteristic.
    func receive(_ value: RawSpan, frame: Int, time: Duration?, _ emit: (BottleTraffic) throws -> Void) rethrows {
        if appendNext(value, frame: frame, time: time) { return }
        if logAssembler == nil {
            if isRepeat(value) { return }
            if appendFirstOrLast(value, frame: frame, time: time) {
                if received == length { try endFastPath(value, emit) }
                return
            }
            if let message = Self.message(value) {
                storePrevious(value)
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
            try endFastPath(nil, emit)
        }
        previous.removeAll(keepingCapacity: true)
        lastSize = 0
    }

    /// Adds a value in the middle of a frame that is one whole entry of records and not a repetition.
    @inline(__always)
    func appendNext(_ value: RawSpan, frame: Int, time: Duration?) -> Bool {
        let size = value.byteCount
        guard length > 0, size >= 2 + recordSize, received + size < length, isEntry(value, at: 0) else {
            return false
        }
        if size == lastSize, hasSameRecords(value, from: 2) { return false }
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

    @inline(__always)
    private func append(_ value: RawSpan, from start: Int, frame: Int, time: Duration?) {
        value.withUnsafeBytes { bytes in records.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start...])) }
        received += value.byteCount - start + 2
        lastSize = value.byteCount
        sources.append(RecordBatch.Source(end: records.count / recordSize, frame: frame, time: time))
    }

    /// Delivers the records of the open frame.
    /// - Parameter last: the value that completed the frame; `nil` if the frame is incomplete.
    private func endFastPath(_ last: RawSpan?, _ emit: (BottleTraffic) throws -> Void) rethrows {
        length = 0
        received = 0
        if let last { storePrevious(last) }
        defer {
            records.removeAll(keepingCapacity: true)
            sources.removeAll(keepingCapacity: true)
        }
        try emit(.records(RecordBatch(bytes: records, sources: sources, isWholeFrame: last != nil)))
    }

    /// Whether the value repeats the previous one (protocol spec P3.4, rule 7).
    private func isRepeat(_ value: RawSpan) -> Bool {
        guard lastSize > 0 else {
            guard value.byteCount == previous.count, !previous.isEmpty else { return false }
            return value.withUnsafeBytes { new in previous.withUnsafeBytes { old in Self.isSame(new, old) } }
        }
        guard value.byteCount == lastSize else { return false }
        let start = sources.count == 1 ? Frame.headerSize : 0
        if start > 0 {
            guard value.byte(0) == 0x50, value.byte(1) == 0x54, Self.lengthField(value) == length else { return false }
        }
        return isEntry(value, at: start) && hasSameRecords(value, from: start + 2)
    }

    /// Whether the value has the records that were added last.
    @inline(__always)
    private func hasSameRecords(_ value: RawSpan, from start: Int) -> Bool {
        let size = value.byteCount - start
        guard size > 0, records.count >= size else { return false }
        return value.withUnsafeBytes { new in
            records.withUnsafeBytes { old in
                Self.isSame(
                    UnsafeRawBufferPointer(rebasing: new[start...]),
                    UnsafeRawBufferPointer(rebasing: old[(old.count - size)...]))
            }
        }
    }

    @inline(__always)
    private static func isSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count, let first = one.baseAddress, let second = other.baseAddress else {
            return one.isEmpty && other.isEmpty
        }
        return memcmp(first, second, one.count) == 0
    }

    private func storePrevious(_ value: RawSpan) {
        lastSize = 0
        previous.removeAll(keepingCapacity: true)
        value.withUnsafeBytes { previous.append(contentsOf: $0) }
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
        var start = 0
        for (index, source) in sources.enumerated() {
            let end = source.end * recordSize
            var value = [UInt8(truncatingIfNeeded: end - start + 1), EntryType.log.rawValue] + records[start..<end]
            if index == 0 { value = Frame.header(.put, length: length) + value }
            let events = assembler.receive(value, from: PayloadPart(frame: source.frame, time: source.time))
            try Self.forward(events, emit)
            start = end
        }
        records.removeAll(keepingCapacity: true)
        sources.removeAll(keepingCapacity: true)
        (length, received, lastSize) = (0, 0, 0)
        previous.removeAll(keepingCapacity: true)
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
                sources[sources.count - 1].end = index + 1
            } else {
                sources.append(Source(end: index + 1, frame: part.frame, time: part.time))
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
