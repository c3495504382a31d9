import Bluetooth
import BottleProtocol

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

/// Puts drink logs together: `LogAssembler` of BottleProtocol, with a fast lane before it and with the packet that each record came in.
///
/// Nearly every log arrives as the bottle sends it: a header with one entry, then notifications of one whole entry each. That
/// needs no general reassembly, and a capture may hold half a million of them. The first value that is anything else hands what
/// has arrived to `LogAssembler`, which stays in charge until the log is asked for again or the connection ends.
struct LogDecoder {
    // The fast lane: a frame whose values were one whole log entry each.
    private var records: [UInt8] = []
    private var sources: [RecordBatch.Source] = []
    /// The frame's length field, and how much of it has arrived.
    private var length = 0
    private var received = 0
    /// The value before, to know a repeat (rule 7).
    private var previous: [UInt8] = []
    /// The general lane.
    private var general: TracedAssembler?

    init() {}

    /// Whether a log is under way.
    var isOpen: Bool { openSince != nil }

    /// The packet in which the oldest part of an unfinished log came.
    var openSince: Int? { general?.openSince ?? sources.first?.frame }

    /// Takes the next value of the response characteristic.
    mutating func receive(_ value: RawSpan, frame: Int, time: Duration?, _ emit: (LogOutput) throws -> Void) rethrows {
        if general == nil {
            if isRepeat(value) { return }
            if takeFast(value, frame: frame, time: time) {
                remember(value)
                if length > 0, received == length { try closeFast(nil, emit) }
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
        previous.removeAll(keepingCapacity: true)
        if var open = general {
            general = nil
            try open.finish(emit)
        } else if length > 0 {
            try closeFast(
                DecodeFailure(
                    what: "the transfer ended before all of its frame arrived", offset: Frame.headerSize + received,
                    needed: length, found: received), emit)
        }
    }

    // MARK: the fast lane

    /// A header with one entry of whole records (when no frame is open), or one such entry that fits into the open frame.
    @inline(__always)
    private mutating func takeFast(_ value: RawSpan, frame: Int, time: Duration?) -> Bool {
        var start = 0
        let count = value.byteCount
        var expected = length
        if length == 0 {
            guard count >= Frame.headerSize + 2, value.byte(0) == 0x50, value.byte(1) == 0x54 else { return false }
            expected = Int(value.byte(2)) << 8 | Int(value.byte(3))
            start = Frame.headerSize
        }
        let size = count - start
        guard size >= 2 + DrinkRecord.size, (size - 2) % DrinkRecord.size == 0, Int(value.byte(start)) == size - 1,
            value.byte(start + 1) == EntryType.log.rawValue, received + size <= expected
        else { return false }
        length = expected
        received += size
        value.extracting((start + 2)..<count).withUnsafeBytes { records.append(contentsOf: $0) }
        sources.append(RecordBatch.Source(end: records.count / DrinkRecord.size, frame: frame, time: time))
        return true
    }

    private mutating func closeFast(_ failure: DecodeFailure?, _ emit: (LogOutput) throws -> Void) rethrows {
        length = 0
        received = 0
        defer {
            records.removeAll(keepingCapacity: true)
            sources.removeAll(keepingCapacity: true)
        }
        try emit(.records(RecordBatch(bytes: records, sources: sources, failure: failure)))
    }

    @inline(__always)
    private func isRepeat(_ value: RawSpan) -> Bool {
        guard value.byteCount == previous.count, value.byteCount > 0 else { return false }
        return value.withUnsafeBytes { new in
            previous.withUnsafeBytes { old in new.elementsEqual(old) }
        }
    }

    @inline(__always)
    private mutating func remember(_ value: RawSpan) {
        previous.removeAll(keepingCapacity: true)
        value.withUnsafeBytes { previous.append(contentsOf: $0) }
    }

    /// A value that is by itself a whole RP or RT frame (rule 2). Between whole entries no log byte can look like one.
    private static func message(_ value: RawSpan) -> Frame? {
        guard value.byteCount >= Frame.headerSize, value.byte(0) == 0x52, value.byte(1) == 0x50 || value.byte(1) == 0x54,
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
            if index == 0 { value = [0x50, 0x54, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)] + value }
            try assembler.receive(value, frame: source.frame, time: source.time, emit)
            start = end
        }
        records.removeAll(keepingCapacity: true)
        sources.removeAll(keepingCapacity: true)
        length = 0
        received = 0
        general = assembler
    }
}
