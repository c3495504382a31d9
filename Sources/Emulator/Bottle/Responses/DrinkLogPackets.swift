import BottleProtocol

/// A value to send, with the numbers of the records whose last byte it contains.
struct OutgoingValue: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case response
        case report
        case log
        /// Random bytes of the fault `endless`, which repeats.
        case randomBytes
    }

    var value: [UInt8]
    var kind: Kind
    var records: [UInt64] = []
    /// The recorded delay after the request.
    var delay = Duration.zero
}

/// Encodes the log as values to send (protocol spec P3).
enum DrinkLogPackets {
    static let recordsPerEntry = 8
    /// The maximum number of records in a frame, whose length field has 16 bits.
    static let maximumPerFrame = 4680

    /// The values of the retail profile: PT frames of at most `perFrame` records each. If it is 0, one frame has
    /// as many as possible.
    static func retail(_ records: [BottleFlash.StoredRecord], perFrame: Int) -> [OutgoingValue] {
        let maximum = perFrame > 0 ? perFrame : maximumPerFrame
        return stride(from: 0, to: records.count, by: maximum).flatMap { start in
            frame(Array(records[start..<min(start + maximum, records.count)]))
        }
    }

    /// The values of one PT frame: the header with the first entry, then one value per entry.
    private static func frame(_ records: [BottleFlash.StoredRecord]) -> [OutgoingValue] {
        var values = entries(records).map { OutgoingValue(value: $0.bytes, kind: .log, records: $0.numbers) }
        let length = values.reduce(0) { $0 + $1.value.count }
        guard !values.isEmpty else { return [] }
        values[0].value = Frame.header(.put, length: length) + values[0].value
        return values
    }

    /// The values of the draft profile: PT frames of at most 8 records, and an empty frame at the end.
    static func draft(_ records: [BottleFlash.StoredRecord]) -> [OutgoingValue] {
        let packets = entries(records).map {
            OutgoingValue(value: Frame(.put, payload: $0.bytes).encoded, kind: .log, records: $0.numbers)
        }
        return packets + [OutgoingValue(value: end, kind: .log)]
    }

    /// The values for a central that reads without a subscription, such as the original app. The frame with the newest
    /// records is first, then older frames, and an empty frame at the end. A frame has at most 19 records (the limit
    /// of an entry), oldest first.
    static func read(_ records: [BottleFlash.StoredRecord]) -> [OutgoingValue] {
        let maximum = (Int(UInt8.max) - 1) / DrinkRecord.size
        let packets = stride(from: records.count, to: 0, by: -maximum).map { end in
            packet(records[max(0, end - maximum)..<end])
        }
        return packets + [OutgoingValue(value: end, kind: .log)]
    }

    private static func packet(_ part: ArraySlice<BottleFlash.StoredRecord>) -> OutgoingValue {
        let entry = Entry(.log, part.flatMap(\.bytes)).encoded
        return OutgoingValue(value: Frame(.put, payload: entry).encoded, kind: .log, records: part.map(\.number))
    }

    /// The empty frame, `50 54 00 00`.
    static let end = Frame(.put, payload: []).encoded

    private static func entries(_ records: [BottleFlash.StoredRecord]) -> [(bytes: [UInt8], numbers: [UInt64])] {
        stride(from: 0, to: records.count, by: recordsPerEntry).map { start in
            let part = records[start..<min(start + recordsPerEntry, records.count)]
            return (Entry(.log, part.flatMap(\.bytes)).encoded, part.map(\.number))
        }
    }
}
