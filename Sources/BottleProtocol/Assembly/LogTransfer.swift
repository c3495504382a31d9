/// A PT frame of the drink log, complete or not.
package struct LogTransfer: Hashable, Sendable {
    /// The whole records as received, 13 bytes each. Equal records stay, because the acknowledgement counts them.
    package let recordBytes: [UInt8]
    /// Skipped entries of other types (rule 4).
    package let skipped: [Entry]
    /// All received payload bytes, for quarantine of an incomplete transfer.
    package let payload: [UInt8]
    /// The length field; `nil` for entries without a header.
    package let length: Int?
    /// Whether all bytes arrived and are entries (rule 5).
    package let isComplete: Bool
    /// Whether an acknowledgement of these records drops exactly these.
    ///
    /// An acknowledgement drops the bottle's oldest records. So after a missing part (an incomplete frame, entries
    /// without a header) a later frame must not be acknowledged. An exception is a frame with all records of the
    /// missing part, because the bottle has started again. A lost whole frame leaves no trace in a dump of several PT
    /// frames, as in the draft profile. Acknowledge such a dump only if further dumps have the same records in the same
    /// order.
    package let isAcknowledgeable: Bool

    /// Whether values ended inside records. Then only the frame length shows that the pieces belong together, and
    /// pieces of two frames can form a false record.
    package internal(set) var isPieced = false

    package var count: Int { recordBytes.count / DrinkRecord.size }

    /// The number of bytes to acknowledge, 13 per record; `nil` if the transfer must not be acknowledged.
    package var acknowledgement: UInt16? { isAcknowledgeable ? UInt16(exactly: recordBytes.count) : nil }

    /// The decoded records, and those that the dialect rejects.
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
    /// Decodes consecutive records without allocation; an incomplete record at the end is ignored.
    @inlinable
    package static func decodeAll(
        _ bytes: [UInt8], dialect: RecordDialect = .calendar, amountWidth: AmountWidth? = nil,
        _ body: (Result<DrinkRecord, DecodeFailure>, UnsafeRawBufferPointer.SubSequence) -> Void
    ) {
        let width = amountWidth ?? AmountWidth(dialect)
        bytes.withUnsafeBytes { buffer in
            var start = 0
            while buffer.count - start >= size {
                // Bytes 5–12 overlap the first word, so that two loads read 13 bytes and nothing after the record.
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
