/// What came of one PT frame of the drink log: whole, or as far as it got.
package struct LogTransfer: Hashable, Sendable {
    /// Whole records as received, 13 bytes each, joined. Equal records stay: the acknowledgement counts them, the
    /// journal does not.
    package let recordBytes: [UInt8]
    /// Entries of other types than `log`, skipped (rule 4).
    package let skipped: [Entry]
    /// All payload bytes received, for quarantine where the transfer is not complete.
    package let payload: [UInt8]
    /// The frame's length field; `nil` for entries whose header never came.
    package let length: Int?
    /// All `length` bytes arrived and are entries (rule 5).
    package let isComplete: Bool
    /// Whether acknowledging these records drops exactly them. An acknowledgement names the bottle's *oldest* records,
    /// so after an earlier part of the log went missing (an unfinished frame, entries without a header) a later
    /// complete frame must not be acknowledged either, unless it holds all that was seen of the missing part: then the
    /// bottle had started over.
    ///
    /// What leaves no trace can not be known here: of a dump of *several* PT frames (the draft profile's packets) a
    /// whole frame may be lost on the way. Such a dump may be acknowledged only when a second dump brings the same
    /// records in the same order.
    package let isAcknowledgeable: Bool

    /// Values ended inside records: nothing but the frame's length says that the pieces belong together. Pieces of two
    /// frames, with values lost of both, can add up to that length, and to a record that the bottle never had.
    package internal(set) var isPieced = false

    /// Number of whole records.
    package var count: Int { recordBytes.count / DrinkRecord.size }

    /// Byte count to acknowledge: 13 a record. `nil`: nothing may be acknowledged.
    package var acknowledgement: UInt16? { isAcknowledgeable ? UInt16(exactly: recordBytes.count) : nil }

    /// The records in the dialect's reading, and those that it refuses with the reason.
    package func records(
        dialect: RecordDialect = .calendar, amountWidth: AmountWidth? = nil
    ) -> (accepted: [DrinkRecord], refused: [(raw: [UInt8], reason: DecodeFailure)]) {
        var accepted: [DrinkRecord] = []
        var refused: [(raw: [UInt8], reason: DecodeFailure)] = []
        accepted.reserveCapacity(count)
        DrinkRecord.decodeAll(recordBytes, dialect: dialect, amountWidth: amountWidth) { result, raw in
            switch result {
            case .success(let record): accepted.append(record)
            case .failure(let reason): refused.append((Array(raw), reason))
            }
        }
        return (accepted, refused)
    }
}

extension DrinkRecord {
    /// Decodes records that stand one after another; a tail shorter than a record is ignored. Allocates nothing by
    /// itself.
    @inlinable
    package static func decodeAll(
        _ bytes: [UInt8], dialect: RecordDialect = .calendar, amountWidth: AmountWidth? = nil,
        _ body: (Result<DrinkRecord, DecodeFailure>, UnsafeRawBufferPointer.SubSequence) -> Void
    ) {
        let width = amountWidth ?? AmountWidth(dialect)
        bytes.withUnsafeBytes { buffer in
            var start = 0
            while buffer.count - start >= size {
                // Bytes 5–12 overlap the first word: 13 bytes are read in two loads, neither past the record.
                let head = UInt64(bigEndian: buffer.loadUnaligned(fromByteOffset: start, as: UInt64.self))
                let tail =
                    UInt64(bigEndian: buffer.loadUnaligned(fromByteOffset: start + 5, as: UInt64.self)) & 0xFF_FFFF_FFFF
                let result = Result { () throws(DecodeFailure) in
                    try DrinkRecord(head: head, tail: tail, dialect: dialect, amountWidth: width)
                }
                body(result, buffer[start..<(start + size)])
                start += size
            }
        }
    }
}
