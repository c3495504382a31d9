import BottleProtocol

/// One record of a bottle's drink log as a capture shows it.
package struct Delivery {
    /// Who delivered it.
    package let bottle: BottlePeer
    /// Whose drinks these are, over all captures: several peers without an address may be one bottle.
    let account: DrinkLedger.Account
    /// As known when the record arrived; `nil` where nothing tells.
    package let model: BottleModel?
    /// The record itself.
    package let record: DrinkRecord
    /// The year the drink counts in: the record's own, or in the strict dialect the latest that the time of the packet
    /// allows.
    package let year: Int
    /// Number of the capture's record in which its last byte came.
    package let frame: Int
    /// Time of that record, since 1970.
    package let time: Duration?
    /// The same drink was delivered before, in this capture or one read before it.
    package let isDuplicate: Bool

    /// Bytes 0–7 and 8–12 of the record, big-endian: the raw bytes without an array.
    let head: UInt64
    let tail: UInt64

    /// Date and time of day, packed so that later ones are larger; `nil` where the fields are no date.
    var order: Int? {
        guard record.isDatePossible else { return nil }
        return ((((year * 16 + record.month) * 32 + record.day) * 32 + record.hour) * 64 + record.minute) * 64
            + record.second
    }

    /// Local wall time of the bottle's clock, `2026-02-02T22:21:15`; `nil` where the fields are no date.
    package var at: String? {
        order.map(Self.text)
    }

    /// `2026-02-02T22:21:15` of an `order`.
    static func text(_ order: Int) -> String {
        func two(_ value: Int) -> String { (value < 10 ? "0" : "") + String(value) }
        let (second, minute, hour, day) = (order & 63, order >> 6 & 63, order >> 12 & 31, order >> 17 & 31)
        return "\(order >> 26)-\(two(order >> 22 & 15))-\(two(day))T\(two(hour)):\(two(minute)):\(two(second))"
    }
}

/// A record that the dialect refuses.
package struct RefusedRecord {
    /// Whose it is.
    package let bottle: BottlePeer
    /// 13 bytes.
    package let raw: [UInt8]
    /// Which rule of the dialect it broke.
    package let reason: DecodeFailure
    /// Number of the record of the capture in which its last byte came.
    package let frame: Int
}
