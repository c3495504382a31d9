/// What a value from the response characteristic turned out to be.
package enum AssemblyEvent: Hashable, Sendable {
    /// A whole RP or RT frame, also one that stood inside a log transfer.
    case message(Frame)
    /// A PT frame of which all bytes arrived. `records` may be 0: the draft profile ends a dump so.
    case log(LogTransfer)
    /// A log transfer that will not complete, with the reason. Its whole records are kept as received and never
    /// acknowledged.
    case unfinished(LogTransfer, DecodeFailure)
    /// The value before, once more: one delivery (rule 7).
    case repeated([UInt8])
    /// Bytes that are no frame or part of one; for quarantine.
    case malformed([UInt8], DecodeFailure)
}

/// Puts the values of the response characteristic together again: the reassembly rules of protocol law P3.4.
///
/// Feed it every value of that one characteristic (rule 8), in order of arrival: notifications, or the draft profile's
/// reads. Call `finish()` when the connection ends *and before each new request for the log*: what then still waits for
/// its other half never will be whole.
///
/// Works for notifications of whole entries in any order (parallel bearers shuffle them, `docs/adapters.md`, EATT),
/// and for logs cut anywhere in order. Memory is bounded by two frames, whatever arrives.
package struct LogAssembler: Sendable {
    private var frame: PartialFrame?
    /// 1–3 bytes of a frame that began so short.
    private var header: [UInt8] = []
    /// Whole log entries that came ahead of their header.
    private var early: [UInt8] = []
    private var previous: [UInt8]?
    private var missing = MissingParts()

    /// With nothing under way.
    package init() {}

    /// Payload bytes received and announced of the log transfer under way; `nil` outside one.
    package var progress: (received: Int, expected: Int)? {
        frame.flatMap { $0.operation == .put ? ($0.payload.count, $0.length) : nil }
    }

    /// Takes the next value of the response characteristic.
    package mutating func receive(_ value: [UInt8]) -> [AssemblyEvent] {
        if value == previous, !completesHeader(value) {
            frame?.appendRepeat(value)
            return [.repeated(value)] + (frame?.isComplete == true ? closeFrame() : [])
        }
        previous = value
        var events: [AssemblyEvent] = []
        var rest = value[...]
        repeat {
            rest = rest.dropFirst(take(rest, of: value.count, &events))
        } while !rest.isEmpty
        return events
    }

    /// Byte by byte even a header may repeat itself: `50`, `54`, `01`, `01`.
    private func completesHeader(_ value: [UInt8]) -> Bool {
        guard let (operation, length) = LogShape.header(header + value), header.count + value.count == Frame.headerSize
        else { return false }
        return !header.isEmpty && operation == .put && LogShape.isSumOfEntries(length)
    }

    /// Ends whatever is under way, and forgets what came before: the next value starts afresh.
    package mutating func finish() -> [AssemblyEvent] {
        var events: [AssemblyEvent] = []
        abandonFrame("the transfer ended before all of its frame arrived", &events)
        abandonHeader(&events)
        abandonEarly(&events)
        previous = nil
        missing = MissingParts()
        return events
    }

    /// Takes the next part of a value and returns how many bytes that was, at least one (0 only of an empty value).
    private mutating func take(_ part: ArraySlice<UInt8>, of valueSize: Int, _ events: inout [AssemblyEvent]) -> Int {
        if !header.isEmpty {
            if !LogShape.isWholeMessage(part), !LogShape.isLogHeader(Array(part)) {
                return continueHeader(part, &events)
            }
            // Rule 2 holds for a log of which only a part of the header has come, too.
            if header.first == UInt8(ascii: "P"), part.count == valueSize, LogShape.isWholeMessage(part) {
                events.append(message(part))
                return part.count
            }
        }
        switch frame.map({ meaning(of: part, during: $0) }) ?? .newFrame {
        case .continuation:
            return continueFrame(part, valueSize, &events)
        case .interleaved(let size):
            events.append(message(part.prefix(size)))
            return size
        case .foreign(let why):
            events.append(
                .malformed(
                    Array(part), DecodeFailure(what: why, offset: 0, needed: Frame.headerSize, found: part.count)))
            return part.count
        case .newFrame:
            abandonFrame("a new frame began before all of this one arrived", &events)
            abandonHeader(&events)
            return begin(part, valueSize, &events)
        }
    }

    private enum Meaning {
        case continuation
        /// A message of that size inside the frame.
        case interleaved(size: Int)
        case foreign(String)
        case newFrame
    }

    /// What a value is that comes inside an unfinished frame. Inside an entry, log bytes may spell anything, so a
    /// header must prove itself (a continuation can begin with the letters PT or RT). Between entries none can: a log
    /// entry begins with n = 1 + 13k.
    private func meaning(of part: ArraySlice<UInt8>, during open: PartialFrame) -> Meaning {
        guard let (operation, length) = LogShape.header(part) else { return .continuation }
        let size = Frame.headerSize + length
        if open.operation != .put {
            // A new answer or log header says that this message was cut short; a report may come in between.
            if LogShape.isWholeMessage(part) { return operation == .report ? .interleaved(size: size) : .newFrame }
            return LogShape.isLogHeader(Array(part)) ? .newFrame : .continuation
        }
        guard open.isAtBoundary else {
            if LogShape.isLogHeader(Array(part)) { return .newFrame }
            let isMessage = LogShape.isWholeMessage(part) && (try? Frame(decoding: part).entries()) != nil
            return isMessage ? .interleaved(size: size) : .continuation
        }
        switch operation {
        case .put: return .newFrame
        case .get: return .foreign("a host's GT frame among the log's entries")
        default:
            return part.count >= size
                ? .interleaved(size: size) : .foreign("a message that was cut short (is the MTU too small?)")
        }
    }

    private mutating func begin(_ part: ArraySlice<UInt8>, _ valueSize: Int, _ events: inout [AssemblyEvent]) -> Int {
        if let (operation, length) = LogShape.header(part), operation != .get {
            if operation != .put, LogShape.isWholeMessage(part) {
                events.append(message(part))
                return part.count
            }
            var open = PartialFrame(operation: operation, length: length)
            let taken = open.append(part.dropFirst(Frame.headerSize), valueSize: valueSize)
            if operation == .put, open.failure == nil, open.isAtBoundary, !open.payload.isEmpty, !early.isEmpty,
                early.count <= open.remaining
            {
                _ = open.append(early[...], valueSize: early.count)
                early = []
            }
            frame = open
            settle(&events)
            let used = Frame.headerSize + taken
            return used + takeSurplus(part.dropFirst(used), after: operation, &events)
        }
        if LogShape.isHeaderStart(part) {
            header = Array(part)
        } else if part.count == valueSize, LogShape.isWholeEntries(Array(part)) {
            early += part
            if early.count > Frame.maximumPayload { abandonEarly(&events) }
        } else {
            reject(part, "bytes that belong to no frame", &events)
        }
        return part.count
    }

    private mutating func continueHeader(_ part: ArraySlice<UInt8>, _ events: inout [AssemblyEvent]) -> Int {
        let taken = part.prefix(Frame.headerSize - header.count)
        header += taken
        guard header.count == Frame.headerSize else { return taken.count }
        if let (operation, length) = LogShape.header(header), operation != .get {
            header = []
            frame = PartialFrame(operation: operation, length: length)
            settle(&events)
        } else {
            abandonHeader(&events)
        }
        return taken.count
    }

    private mutating func continueFrame(_ part: ArraySlice<UInt8>, _ valueSize: Int, _ events: inout [AssemblyEvent])
        -> Int
    {
        guard let operation = frame?.operation, let taken = frame?.append(part, valueSize: valueSize) else {
            return part.count
        }
        settle(&events)
        return taken + takeSurplus(part.dropFirst(taken), after: operation, &events)
    }

    /// Bytes of a value past its frame's end. A frame may follow; anything else a lying length left over.
    private mutating func takeSurplus(
        _ surplus: ArraySlice<UInt8>, after operation: FrameOperation, _ events: inout [AssemblyEvent]
    ) -> Int {
        guard !surplus.isEmpty, frame == nil, LogShape.header(surplus) == nil, !LogShape.isHeaderStart(surplus) else {
            return 0
        }
        let whole = surplus.count / DrinkRecord.size * DrinkRecord.size
        guard operation == .put, whole > 0 else {
            reject(surplus, "bytes past the end of a frame", &events)
            return surplus.count
        }
        let transfer = LogTransfer(
            recordBytes: Array(surplus.prefix(whole)), skipped: [], payload: Array(surplus), length: nil,
            isComplete: false, isAcknowledgeable: false)
        missing.note(transfer)
        events.append(
            .unfinished(
                transfer,
                DecodeFailure(what: "records past the end of their frame", offset: 0, needed: 0, found: surplus.count)))
        return surplus.count
    }

    /// Emits the open frame if it is whole, or gives it up if it can not be.
    private mutating func settle(_ events: inout [AssemblyEvent]) {
        guard let open = frame else { return }
        if let failure = open.failure {
            frame = nil
            missing.noteUnknown()
            events.append(.unfinished(open.transfer(isAcknowledgeable: false), failure))
        } else if open.isComplete {
            events += closeFrame()
        }
    }

    private mutating func closeFrame() -> [AssemblyEvent] {
        guard let done = frame else { return [] }
        frame = nil
        guard done.operation == .put else { return [.message(Frame(done.operation, payload: done.payload))] }
        let found = done.transfer(isAcknowledgeable: true)
        let transfer = missing.isCovered(by: found) && early.isEmpty ? found : done.transfer(isAcknowledgeable: false)
        if transfer.isAcknowledgeable { missing = MissingParts() }
        return [.log(transfer)]
    }

    private func message(_ part: ArraySlice<UInt8>) -> AssemblyEvent {
        do {
            return .message(try Frame(decoding: part))
        } catch {
            return .malformed(Array(part), error)
        }
    }

    private mutating func abandonFrame(_ why: String, _ events: inout [AssemblyEvent]) {
        guard let open = frame else { return }
        frame = nil
        let reason = DecodeFailure(
            what: why, offset: Frame.headerSize + open.payload.count, needed: open.length, found: open.payload.count)
        guard open.operation == .put else {
            events.append(.malformed(open.bytes, reason))
            return
        }
        let transfer = open.transfer(isAcknowledgeable: false)
        missing.note(transfer)
        events.append(.unfinished(transfer, reason))
    }

    private mutating func abandonHeader(_ events: inout [AssemblyEvent]) {
        guard !header.isEmpty else { return }
        let bytes = header
        header = []
        missing.noteUnknown()
        reject(bytes[...], "the beginning of a frame without the rest", &events)
    }

    private mutating func abandonEarly(_ events: inout [AssemblyEvent]) {
        guard !early.isEmpty else { return }
        let records = ((try? Entry.sequence(decoding: early)) ?? []).flatMap(\.data)
        let transfer = LogTransfer(
            recordBytes: records, skipped: [], payload: early, length: nil, isComplete: false, isAcknowledgeable: false)
        early = []
        missing.note(transfer)
        events.append(
            .unfinished(
                transfer,
                DecodeFailure(
                    what: "log entries whose frame header never came", offset: 0, needed: Frame.headerSize, found: 0)))
    }

    private mutating func reject(_ bytes: ArraySlice<UInt8>, _ why: String, _ events: inout [AssemblyEvent]) {
        // They may be part of a log whose header was lost, if they could hold a record.
        if bytes.count >= DrinkRecord.size { missing.noteUnknown() }
        events.append(
            .malformed(Array(bytes), DecodeFailure(what: why, offset: 0, needed: Frame.headerSize, found: bytes.count)))
    }
}

extension PartialFrame {
    /// Header and payload as far as they came.
    var bytes: [UInt8] {
        [
            UInt8(operation.rawValue >> 8), UInt8(truncatingIfNeeded: operation.rawValue), UInt8(length >> 8),
            UInt8(truncatingIfNeeded: length),
        ] + payload
    }
}
