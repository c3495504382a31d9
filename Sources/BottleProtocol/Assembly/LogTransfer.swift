/// A packet of a capture with a part of a transfer's payload.
package struct PayloadPart: Hashable, Sendable {
    /// The number of payload bytes up to the end of this part.
    package internal(set) var end = 0
    /// The number of the packet in the capture.
    package let frame: Int
    /// The time of the packet since 1970.
    package let time: Duration?

    package init(frame: Int, time: Duration?) {
        self.frame = frame
        self.time = time
    }
}

/// The received part of a PT frame, which contains records of the drink log.
package struct LogTransfer: Hashable, Sendable {
    /// The whole records as received, 13 bytes each. Includes equal records, because the acknowledgement counts them.
    package let recordBytes: [UInt8]
    /// All received payload bytes, for quarantine of an incomplete transfer.
    package let payload: [UInt8]
    /// The length field; `nil` for entries without a header.
    package let length: Int?
    /// Whether all bytes arrived and are valid entries (protocol spec P3.4, rule 5).
    package let isComplete: Bool
    /// Whether values ended inside records. Then only the frame length shows which values belong together, and values
    /// of two frames can form a false record.
    package internal(set) var isSplitInsideRecords = false
    /// The packets of the payload, in its order; empty if the caller of the assembler named none.
    package internal(set) var parts: [PayloadPart] = []

    package var count: Int { recordBytes.count / DrinkRecord.size }

    /// The decoded records, except those that the dialect rejects.
    package func records(dialect: RecordDialect = .calendar) -> [DrinkRecord] {
        DrinkRecord.all(in: recordBytes, dialect: dialect)
    }
}
