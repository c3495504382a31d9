import Bluetooth
import BottleProtocol
import Glibc

/// What the response characteristic has said.
enum LogOutput {
    /// Whole records of the drink log, in order.
    case records(RecordBatch)
    /// A whole RP or RT frame.
    case message(Frame)
    /// Bytes that are no frame or part of one.
    case malformed([UInt8], DecodeFailure)
}

/// Whole records of one log transfer, complete or not.
struct RecordBatch {
    /// 13 bytes a record.
    var bytes: [UInt8]
    /// Which records came in which packet, in order.
    var sources: [Source]
    /// `nil`: all of the frame arrived. Else why it did not; the records are whole nevertheless.
    var failure: DecodeFailure?

    struct Source {
        /// Number of records up to and including this packet's.
        var end: Int
        var frame: Int
        var time: Duration?
    }
}

/// Puts drink logs together: `LogAssembler` of BottleProtocol, with a fast lane before it and with the packet that each
/// record came in.
///
/// Nearly every log arrives as the bottle sends it: a header with one entry, then notifications of one whole entry
/// each. That needs no general reassembly, and a capture may hold half a million of them. The first value that is
/// anything else hands what has arrived to `LogAssembler`, which stays in charge until the log is asked for again or
/// the connection ends.
struct LogDecoder {
    // The fast lane: a frame whose values were one whole log entry each.
    private var records: [UInt8] = []
    private var sources: [RecordBatch.Source] = []
    /// The frame's length field; 0 while none is under way.
    private var length = 0
    private var received = 0
    /// Bytes of the value before, and its size where it was taken by the open frame: its records are the last of
    /// `records` then.
    private var previous: [UInt8] = []
    private var lastSize = 0
    /// The general lane.
    private var general: TracedAssembler?

    init() {}

    /// Whether a log is under way.
    var isOpen: Bool { openSince != nil }

    /// The packet in which the oldest part of an unfinished log came.
    var openSince: Int? { general?.openSince ?? sources.first?.frame }

    /// Takes the next value of the response characteristic.
    mutating func receive(_ value: RawSpan, frame: Int, time: Duration?, _ emit: (LogOutput) throws -> Void) rethrows {
        if takeNext(value, frame: frame, time: time) { return }
        if general == nil {
            if isRepeat(value) { return }
            if takeFirstOrLast(value, frame: frame, time: time) {
                if received == length { try closeFast(nil, value, emit) }
                return
            }
            if let message = Self.message(value) {
                remember(value)
                return try emit(.message(message))
            }
            try startGeneral(emit)
        }
        try general?.receive(value.bytes(), frame: frame, time: time, emit)
    }

    /// Ends what is under way: the connection has ended, or the log is asked for again.
    mutating func finish(_ emit: (LogOutput) throws -> Void) rethrows {
        if var open = general {
            general = nil
            try open.finish(emit)
        } else if length > 0 {
            let failure = DecodeFailure(
                what: "the transfer ended before the frame was complete", offset: Frame.headerSize + received,
                needed: length, found: received)
            try closeFast(failure, nil, emit)
        }
        previous.removeAll(keepingCapacity: true)
        lastSize = 0
    }

    // MARK: the fast lane

    /// The case that repeats half a million times: a value in the middle of a frame that is one whole entry of records,
    /// and not the value before once more. Nothing is to be told then.
    @inline(__always)
    mutating func takeNext(_ value: RawSpan, frame: Int, time: Duration?) -> Bool {
        let size = value.byteCount
        guard length > 0, size >= 2 + DrinkRecord.size, received + size < length, isEntry(value, at: 0) else {
            return false
        }
        if size == lastSize, hasSameRecords(value, from: 2) { return false }
        append(value, from: 2, frame: frame, time: time)
        return true
    }

    /// A header with one entry of whole records, or the entry that ends the open frame.
    private mutating func takeFirstOrLast(_ value: RawSpan, frame: Int, time: Duration?) -> Bool {
        if length > 0 {
            guard received + value.byteCount <= length, isEntry(value, at: 0) else { return false }
            append(value, from: 2, frame: frame, time: time)
            return true
        }
        guard value.byteCount >= Frame.headerSize + 2, value.byte(0) == 0x50, value.byte(1) == 0x54 else {
            return false
        }
        let announced = Int(value.byte(2)) << 8 | Int(value.byte(3))
        guard value.byteCount - Frame.headerSize <= announced, isEntry(value, at: Frame.headerSize) else {
            return false
        }
        length = announced
        append(value, from: Frame.headerSize + 2, frame: frame, time: time)
        return true
    }

    /// From there on the value is one whole entry of whole records.
    @inline(__always)
    private func isEntry(_ value: RawSpan, at start: Int) -> Bool {
        let size = value.byteCount - start
        return size >= 2 + DrinkRecord.size && Int(value.byte(start)) == size - 1
            && value.byte(start + 1) == EntryType.log.rawValue
            && (size - 2) % DrinkRecord.size == 0
    }

    @inline(__always)
    private mutating func append(_ value: RawSpan, from start: Int, frame: Int, time: Duration?) {
        value.withUnsafeBytes { bytes in records.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start...])) }
        received += value.byteCount - start + 2
        lastSize = value.byteCount
        sources.append(RecordBatch.Source(end: records.count / DrinkRecord.size, frame: frame, time: time))
    }

    private mutating func closeFast(_ failure: DecodeFailure?, _ last: RawSpan?, _ emit: (LogOutput) throws -> Void)
        rethrows
    {
        length = 0
        received = 0
        if let last { remember(last) }
        defer {
            records.removeAll(keepingCapacity: true)
            sources.removeAll(keepingCapacity: true)
        }
        try emit(.records(RecordBatch(bytes: records, sources: sources, failure: failure)))
    }

    /// Whether the value is the one before once more (rule 7).
    private func isRepeat(_ value: RawSpan) -> Bool {
        if lastSize > 0 {
            guard value.byteCount == lastSize else { return false }
            let isFirst = sources.count == 1
            if isFirst {
                guard value.byte(0) == 0x50, value.byte(1) == 0x54,
                    Int(value.byte(2)) << 8 | Int(value.byte(3)) == length,
                    isEntry(value, at: Frame.headerSize)
                else { return false }
            } else if !isEntry(value, at: 0) {
                return false
            }
            return hasSameRecords(value, from: isFirst ? Frame.headerSize + 2 : 2)
        }
        guard value.byteCount == previous.count, !previous.isEmpty else { return false }
        return value.withUnsafeBytes { new in previous.withUnsafeBytes { old in Self.isSame(new, old) } }
    }

    /// Whether the last records taken are this value's.
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

    private mutating func remember(_ value: RawSpan) {
        lastSize = 0
        previous.removeAll(keepingCapacity: true)
        value.withUnsafeBytes { previous.append(contentsOf: $0) }
    }

    /// A value that is by itself a whole RP or RT frame (rule 2). Between whole entries no log byte can look like one.
    private static func message(_ value: RawSpan) -> Frame? {
        guard value.byteCount >= Frame.headerSize, value.byte(0) == 0x52,
            value.byte(1) == 0x50 || value.byte(1) == 0x54,
            Int(value.byte(2)) << 8 | Int(value.byte(3)) == value.byteCount - Frame.headerSize
        else { return nil }
        return try? Frame(decoding: value.bytes())
    }

    // MARK: the way out of it

    /// Hands over the frame that is under way, value by value as it came.
    private mutating func startGeneral(_ emit: (LogOutput) throws -> Void) rethrows {
        var assembler = TracedAssembler()
        var start = 0
        for (index, source) in sources.enumerated() {
            let end = source.end * DrinkRecord.size
            var value = [UInt8(truncatingIfNeeded: end - start + 1), EntryType.log.rawValue] + records[start..<end]
            if index == 0 { value = Frame.header(.put, length: length) + value }
            try assembler.receive(value, frame: source.frame, time: source.time, emit)
            start = end
        }
        records.removeAll(keepingCapacity: true)
        sources.removeAll(keepingCapacity: true)
        length = 0
        received = 0
        lastSize = 0
        previous.removeAll(keepingCapacity: true)
        general = assembler
    }
}
