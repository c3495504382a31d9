import BottleProtocol

/// `LogAssembler`, with the packet that each record was completed in.
///
/// The assembler knows values, not packets: how far its frame grows with each value tells which payload bytes came
/// when.
struct TracedAssembler {
    private var assembler = LogAssembler()
    /// Payload bytes of the open frame, up to each packet.
    private var arrived: [Piece] = []
    /// Entries that came ahead of their frame's header.
    private var early: [Piece] = []

    private struct Piece {
        /// Payload bytes up to and including this packet's (`arrived`), or of this packet alone (`early`).
        var size: Int
        var frame: Int
        var time: Duration?
    }

    var openSince: Int? { arrived.first?.frame ?? early.first?.frame }

    mutating func receive(_ value: [UInt8], frame: Int, time: Duration?, _ emit: (LogOutput) throws -> Void) rethrows {
        let before = assembler.progress?.received
        let events = assembler.receive(value)
        let after = assembler.progress?.received
        let here = Piece(size: .max, frame: frame, time: time)
        var isFirst = true
        for event in events {
            switch event {
            case .log(let transfer):
                try emit(.records(batch(transfer, nil, isFirst, here, value.count)))
                isFirst = false
            case .unfinished(let transfer, let failure):
                try emit(.records(batch(transfer, failure, isFirst, here, value.count)))
                isFirst = false
            case .message(let message): try emit(.message(message))
            case .malformed(let bytes, let failure): try emit(.malformed(bytes, failure))
            case .repeated: break
            }
        }
        if let after {
            if before == nil || !isFirst {
                open(after, value.count, here)
            } else if after > before ?? 0 {
                append(after, here)
            }
        } else if events.isEmpty, before == nil {
            // Whole entries without a header (or the first bytes of one): they belong to a frame that is still to come.
            early.append(Piece(size: value.count, frame: frame, time: time))
            if early.count > Frame.maximumPayload { early.removeAll() }
        }
    }

    mutating func finish(_ emit: (LogOutput) throws -> Void) rethrows {
        var here = arrived.last ?? early.last ?? Piece(size: .max, frame: 0, time: nil)
        here.size = .max
        var isFirst = true
        for event in assembler.finish() {
            switch event {
            case .log(let transfer): try emit(.records(batch(transfer, nil, isFirst, here, 0)))
            case .unfinished(let transfer, let failure): try emit(.records(batch(transfer, failure, isFirst, here, 0)))
            case .message(let message): try emit(.message(message))
            case .malformed(let bytes, let failure): try emit(.malformed(bytes, failure))
            case .repeated: break
            }
            isFirst = false
        }
        arrived = []
        early = []
    }

    private mutating func append(_ size: Int, _ piece: Piece) {
        arrived.append(Piece(size: size, frame: piece.frame, time: piece.time))
    }

    /// A frame begins with this value; entries that came early stand behind the value's own.
    private mutating func open(_ size: Int, _ valueSize: Int, _ piece: Piece) {
        arrived = []
        let own = min(size, max(0, valueSize - Frame.headerSize))
        append(size > own && !early.isEmpty ? own : size, piece)
        takeEarly(upTo: size)
    }

    private mutating func takeEarly(upTo size: Int) {
        guard let last = arrived.last?.size, last < size else { return }
        var total = last
        for piece in early {
            total += piece.size
            arrived.append(Piece(size: total, frame: piece.frame, time: piece.time))
        }
        early = []
    }

    /// The records of a transfer with their packets. Only the first transfer that a value ends has parts from before
    /// it.
    private mutating func batch(
        _ transfer: LogTransfer, _ failure: DecodeFailure?, _ isFirst: Bool, _ here: Piece, _ valueSize: Int
    ) -> RecordBatch {
        var pieces = isFirst ? arrived : []
        arrived = []
        if isFirst, pieces.isEmpty, !early.isEmpty {
            if transfer.length != nil {
                pieces.append(Piece(size: max(0, valueSize - Frame.headerSize), frame: here.frame, time: here.time))
            }
            var total = pieces.last?.size ?? 0
            for piece in early {
                total += piece.size
                pieces.append(Piece(size: total, frame: piece.frame, time: piece.time))
            }
            early = []
        }
        pieces.append(Piece(size: .max, frame: here.frame, time: here.time))
        var sources: [RecordBatch.Source] = []
        var place = 0
        for (index, end) in Self.recordEnds(transfer).enumerated() {
            while place < pieces.count - 1, pieces[place].size < end { place += 1 }
            let piece = pieces[place]
            if sources.last?.frame == piece.frame {
                sources[sources.count - 1].end = index + 1
            } else {
                sources.append(RecordBatch.Source(end: index + 1, frame: piece.frame, time: piece.time))
            }
        }
        return RecordBatch(bytes: transfer.recordBytes, sources: sources, failure: failure)
    }

    /// Where each record of a transfer ends in its payload.
    private static func recordEnds(_ transfer: LogTransfer) -> [Int] {
        var ends: [Int] = []
        var at = 0
        let payload = transfer.payload
        while at + 1 < payload.count, ends.count < transfer.count {
            let next = at + 1 + Int(payload[at])
            guard next > at + 1 else { break }
            if payload[at + 1] == EntryType.log.rawValue {
                var end = at + 2 + DrinkRecord.size
                while end <= min(next, payload.count), ends.count < transfer.count {
                    ends.append(end)
                    end += DrinkRecord.size
                }
            }
            at = next
        }
        // Records past the end of their frame stand without entries around them.
        while ends.count < transfer.count { ends.append((ends.last ?? 0) + DrinkRecord.size) }
        return ends
    }
}
