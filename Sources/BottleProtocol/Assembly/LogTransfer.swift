/// A PT frame of the drink log, complete or not.
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

    package var count: Int { recordBytes.count / DrinkRecord.size }

    /// The decoded records, except those that the dialect rejects.
    package func records(dialect: RecordDialect = .calendar) -> [DrinkRecord] {
        DrinkRecord.all(in: recordBytes, dialect: dialect)
    }
}
