/// An event that `LogAssembler` returns for a value of the response characteristic.
package enum AssemblyEvent: Hashable, Sendable {
    /// A complete RP or RT frame, which can also arrive between two values of a log transfer.
    case message(Frame)
    /// A complete PT frame. It can have no records: the draft profile ends a dump with an empty frame.
    case log(LogTransfer)
    /// A log transfer that cannot be completed. Its whole records are kept and never acknowledged. A host must not
    /// acknowledge later frames of the same dump either, because an acknowledgement drops the bottle's oldest records.
    case unfinished(LogTransfer, DecodeFailure)
    /// The previous value was received again: a repeated delivery (protocol spec P3.4, rule 7)
    /// unless `expectResponse` was called in between.
    case repeated([UInt8])
    /// Bytes that are not part of a frame, for quarantine.
    case malformed([UInt8], DecodeFailure)
}

/// Reassembles frames from the values of the response characteristic (protocol spec P3.4).
///
/// Pass every value of that characteristic in the order of arrival (notifications, or reads of the draft profile).
/// Call `finish()` when the connection ends and before each new log request, because an incomplete transfer cannot be
/// completed later.
///
/// Notifications of whole entries can arrive in any order, because Enhanced ATT bearers reorder them (see
/// `docs/adapters.md`). Logs that are split inside entries must arrive in order. Memory use is limited to two frames.
package struct LogAssembler: Sendable {
    private var frame: PartialFrame?
    /// The received 1–3 bytes of an incomplete frame header.
    private var header: [UInt8] = []
    /// Whole log entries that arrived before their header.
    private var earlyEntries: [UInt8] = []
    /// The packets of `earlyEntries`.
    private var earlyParts: [PayloadPart] = []
    /// The packet of the current value, if the caller named one.
    private var packet: PayloadPart?
    private var previousValue: [UInt8]?

    package init() {}

    /// The received and the expected payload bytes of the current log transfer, or `nil`.
    package var progress: (received: Int, expected: Int)? {
        frame.flatMap { $0.operation == .put ? ($0.payload.count, $0.length) : nil }
    }

    /// Adds the next value.
    /// - Parameter packet: the packet of a capture with the value, for `LogTransfer.parts`.
    package mutating func receive(_ value: [UInt8], from packet: PayloadPart? = nil) -> [AssemblyEvent] {
        self.packet = packet
        if value == previousValue, !completesHeader(value) {
            frame?.appendRepeat(value, packet)
            return [.repeated(value)] + (frame?.isComplete == true ? closeFrame() : [])
        }
        previousValue = value
        var events: [AssemblyEvent] = []
        var rest = value[...]
        repeat {
            rest = rest.dropFirst(processPart(rest, of: value.count, &events))
        } while !rest.isEmpty
        return events
    }

    /// Whether the value can complete the header. A header sent byte by byte can have equal bytes: `50`, `54`, `01`,
    /// `01`.
    private func completesHeader(_ value: [UInt8]) -> Bool {
        guard let (operation, length) = LogValueChecks.header(header + value),
            header.count + value.count == Frame.headerSize
        else { return false }
        return !header.isEmpty && operation == .put && LogValueChecks.isSumOfEntries(length)
    }

    /// Accepts the next value even if it is equal to the previous one, because it can respond to a new command.
    package mutating func expectResponse() { previousValue = nil }

    /// Ends the current transfer and resets the assembler.
    package mutating func finish() -> [AssemblyEvent] {
        var events: [AssemblyEvent] = []
        abandonFrame("the transfer ended before the frame was complete", &events)
        abandonHeader(&events)
        abandonEarly(&events)
        previousValue = nil
        return events
    }

    /// Processes the next part of a value and returns its length: at least 1, or 0 for an empty value.
    private mutating func processPart(_ part: ArraySlice<UInt8>, of valueSize: Int, _ events: inout [AssemblyEvent])
        -> Int
    {
        if !header.isEmpty {
            if !LogValueChecks.isWholeMessage(part), !LogValueChecks.isLogHeader(Array(part)) {
                return continueHeader(part, &events)
            }
            // A whole message can arrive inside a log with an incomplete header (protocol spec P3.4, rule 2).
            if header.first == UInt8(ascii: "P"), part.count == valueSize, LogValueChecks.isWholeMessage(part) {
                events.append(message(part))
                return part.count
            }
        }
        switch frame.map({ kind(of: part, during: $0) }) ?? .newFrame {
        case .continuation:
            return continueFrame(part, valueSize, &events)
        case .interleaved(let size):
            events.append(message(part.prefix(size)))
            return size
        case .malformed(let problem):
            events.append(
                .malformed(
                    Array(part), DecodeFailure(problem: problem, offset: 0, needed: Frame.headerSize, found: part.count)
                ))
            return part.count
        case .newFrame:
            abandonFrame("a new frame started before this one was complete", &events)
            abandonHeader(&events)
            return begin(part, valueSize, &events)
        }
    }

    private enum ValueKind {
        case continuation
        /// A whole message of that size inside the open frame.
        case interleaved(size: Int)
        case malformed(String)
        case newFrame
    }

    /// Classifies a value that arrives inside an incomplete frame. Log bytes inside an entry can equal a header, so a
    /// header must be plausible there. Between entries they cannot: a log entry starts with its length, 1 + 13 ×
    /// records, which is not the first byte of a header.
    private func kind(of part: ArraySlice<UInt8>, during open: PartialFrame) -> ValueKind {
        guard let (operation, length) = LogValueChecks.header(part) else { return .continuation }
        let size = Frame.headerSize + length
        if open.operation != .put {
            // A new response or log header means that this message was truncated; a report can be interleaved.
            if LogValueChecks.isWholeMessage(part) {
                return operation == .report ? .interleaved(size: size) : .newFrame
            }
            return LogValueChecks.isLogHeader(Array(part)) ? .newFrame : .continuation
        }
        guard open.isAtBoundary else {
            if LogValueChecks.isLogHeader(Array(part)) { return .newFrame }
            let isMessage = LogValueChecks.isWholeMessage(part) && (try? Frame(decoding: part).entries()) != nil
            return isMessage ? .interleaved(size: size) : .continuation
        }
        switch operation {
        case .put: return .newFrame
        case .get: return .malformed("a GT frame of a host between log entries")
        default:
            return part.count >= size
                ? .interleaved(size: size) : .malformed("a truncated message; the MTU might be too small")
        }
    }

    private mutating func begin(_ part: ArraySlice<UInt8>, _ valueSize: Int, _ events: inout [AssemblyEvent]) -> Int {
        if let (operation, length) = LogValueChecks.header(part), operation != .get {
            if operation != .put, LogValueChecks.isWholeMessage(part) {
                events.append(message(part))
                return part.count
            }
            var open = PartialFrame(operation: operation, length: length)
            let taken = open.append(part.dropFirst(Frame.headerSize), valueSize: valueSize, packet)
            if operation == .put, open.failure == nil, open.isAtBoundary, !open.payload.isEmpty, !earlyEntries.isEmpty,
                earlyEntries.count <= open.remaining
            {
                let start = open.payload.count
                _ = open.append(earlyEntries[...], valueSize: earlyEntries.count, nil)
                for part in earlyParts { open.addPart(part, upTo: start + part.end) }
                (earlyEntries, earlyParts) = ([], [])
            }
            frame = open
            emitFinishedFrame(&events)
            let used = Frame.headerSize + taken
            return used + processSurplus(part.dropFirst(used), after: operation, &events)
        }
        if LogValueChecks.isHeaderStart(part) {
            header = Array(part)
        } else if part.count == valueSize, LogValueChecks.isWholeEntries(Array(part)) {
            earlyEntries += part
            if var packet {
                packet.end = earlyEntries.count
                earlyParts.append(packet)
            }
            if earlyEntries.count > Frame.maximumPayload { abandonEarly(&events) }
        } else {
            reject(part, "bytes outside a frame", &events)
        }
        return part.count
    }

    private mutating func continueHeader(_ part: ArraySlice<UInt8>, _ events: inout [AssemblyEvent]) -> Int {
        let taken = part.prefix(Frame.headerSize - header.count)
        header += taken
        guard header.count == Frame.headerSize else { return taken.count }
        if let (operation, length) = LogValueChecks.header(header), operation != .get {
            header = []
            frame = PartialFrame(operation: operation, length: length)
            emitFinishedFrame(&events)
        } else {
            abandonHeader(&events)
        }
        return taken.count
    }

    private mutating func continueFrame(_ part: ArraySlice<UInt8>, _ valueSize: Int, _ events: inout [AssemblyEvent])
        -> Int
    {
        guard let operation = frame?.operation, let taken = frame?.append(part, valueSize: valueSize, packet) else {
            return part.count
        }
        emitFinishedFrame(&events)
        return taken + processSurplus(part.dropFirst(taken), after: operation, &events)
    }

    /// Processes the bytes after the end of a frame: another frame, or records beyond a wrong length.
    private mutating func processSurplus(
        _ surplus: ArraySlice<UInt8>, after operation: FrameOperation, _ events: inout [AssemblyEvent]
    ) -> Int {
        guard !surplus.isEmpty, frame == nil, LogValueChecks.header(surplus) == nil,
            !LogValueChecks.isHeaderStart(surplus)
        else {
            return 0
        }
        let wholeRecordBytes = surplus.count / DrinkRecord.size * DrinkRecord.size
        guard operation == .put, wholeRecordBytes > 0 else {
            reject(surplus, "bytes past the end of a frame", &events)
            return surplus.count
        }
        let transfer = LogTransfer(
            recordBytes: Array(surplus.prefix(wholeRecordBytes)), payload: Array(surplus), length: nil,
            isComplete: false, parts: packet.map { [$0] } ?? [])
        events.append(
            .unfinished(
                transfer,
                DecodeFailure(
                    problem: "records past the end of their frame", offset: 0, needed: 0, found: surplus.count)))
        return surplus.count
    }

    /// Emits the open frame if it is complete or cannot become complete.
    private mutating func emitFinishedFrame(_ events: inout [AssemblyEvent]) {
        if let failure = frame?.failure, let open = frame {
            frame = nil
            events.append(.unfinished(open.transfer, failure))
        } else if frame?.isComplete == true {
            events += closeFrame()
        }
    }

    private mutating func closeFrame() -> [AssemblyEvent] {
        guard let done = frame else { return [] }
        frame = nil
        guard done.operation == .put else { return [.message(Frame(done.operation, payload: done.payload))] }
        // Earlier entries without a header are not part of this frame, so their own header was lost.
        var events: [AssemblyEvent] = []
        abandonEarly(&events)
        return events + [.log(done.transfer)]
    }

    private func message(_ part: ArraySlice<UInt8>) -> AssemblyEvent {
        do {
            return .message(try Frame(decoding: part))
        } catch {
            return .malformed(Array(part), error)
        }
    }

    private mutating func abandonFrame(_ problem: String, _ events: inout [AssemblyEvent]) {
        guard let open = frame else { return }
        frame = nil
        let reason = DecodeFailure(
            problem: problem, offset: Frame.headerSize + open.payload.count, needed: open.length,
            found: open.payload.count)
        guard open.operation == .put else {
            events.append(.malformed(Frame.header(open.operation, length: open.length) + open.payload, reason))
            return
        }
        events.append(.unfinished(open.transfer, reason))
    }

    private mutating func abandonHeader(_ events: inout [AssemblyEvent]) {
        guard !header.isEmpty else { return }
        let bytes = header
        header = []
        reject(bytes[...], "an incomplete frame header", &events)
    }

    private mutating func abandonEarly(_ events: inout [AssemblyEvent]) {
        guard !earlyEntries.isEmpty else { return }
        let records = ((try? Entry.sequence(decoding: earlyEntries)) ?? []).flatMap(\.data)
        let transfer = LogTransfer(
            recordBytes: records, payload: earlyEntries, length: nil, isComplete: false, parts: earlyParts)
        (earlyEntries, earlyParts) = ([], [])
        events.append(
            .unfinished(
                transfer,
                DecodeFailure(
                    problem: "log entries without a frame header", offset: 0, needed: Frame.headerSize, found: 0)))
    }

    private mutating func reject(_ bytes: ArraySlice<UInt8>, _ problem: String, _ events: inout [AssemblyEvent]) {
        events.append(
            .malformed(
                Array(bytes), DecodeFailure(problem: problem, offset: 0, needed: Frame.headerSize, found: bytes.count)))
    }
}
