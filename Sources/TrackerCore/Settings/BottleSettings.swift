/// How a bottle is found, read and understood: the settings `bottle.…` of tracker spec Section 11. A bottle may have
/// its own, over those of the store; what it does not say itself it takes from there.
package struct BottleSettings: Hashable, Sendable {
    /// Shares or separates histories; `nil` is the bottle's address.
    package internal(set) var alias: String?
    /// IANA id of the zone of its clock; `nil` is the zone of days.
    package internal(set) var zone: String?
    /// How byte 0 of a record is read.
    package internal(set) var recordDialect = RecordDialectSetting.calendar
    /// `nil` follows the dialect: `u8` when strict, `u16be` in calendar.
    package internal(set) var amountWidth: AmountWidth?
    /// How long a bottle is looked for, 1–60 s.
    package internal(set) var scanTimeoutSeconds = 10.0
    /// How long a connection may take, 1–60 s.
    package internal(set) var connectTimeoutSeconds = 5.0
    /// How long to wait before a response is read (draft profile), 0–5 s.
    package internal(set) var readDelaySeconds = 0.5
    /// When the connection is kept after a poll.
    package internal(set) var hold = BottleHold.watching
    /// Whether it is polled outside of drinking hours.
    package internal(set) var pollWhenIdle = true
    /// Older records are implausible, 1–360 days.
    package internal(set) var maxRecordAgeDays = 180
    /// Its light shows when a drink is due.
    package internal(set) var light = false
    /// Its screen shows the day's goal.
    package internal(set) var showsGoal = false

    /// Everything at its default.
    package init() {}

    /// What every name of a bottle's setting begins with.
    package static let prefix = "bottle."
}

/// How a bottle's records are read (tracker spec A1, A2).
package enum RecordDialectSetting: String, Hashable, Sendable, CaseIterable { case calendar, strict }
/// Whether a service stays connected with the bottle between polls, so that a sip is seen at once.
package enum BottleHold: String, Hashable, Sendable, CaseIterable {
    case never
    /// While somebody looks.
    case watching
    case always
}

/// How many bytes of a record the amount has.
package enum AmountWidth: String, Hashable, Sendable, CaseIterable {
    case u8, u16be

    /// The amount in bytes 6 and 7 of a record, ml (tracker spec A1).
    package func amountMl(byte6: UInt8, byte7: UInt8) -> Int { self == .u8 ? Int(byte7) : Int(byte6) << 8 | Int(byte7) }
}
