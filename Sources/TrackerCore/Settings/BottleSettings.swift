package import BottleProtocol

/// The settings `bottle.…` (tracker spec Section 11). A bottle can override the settings of the store.
package struct BottleSettings: Hashable, Sendable {
    /// The user's name for the bottle; `nil` for its address.
    package internal(set) var alias: String?
    /// The IANA id of the bottle's time zone; `nil` for that of days.
    package internal(set) var zone: String?
    package internal(set) var recordDialect = RecordDialect.calendar
    /// The width of amounts; `nil` for that of the dialect: `u8` for strict, `u16be` for calendar.
    package internal(set) var amountWidth: AmountWidth?
    /// The scan duration (1–60 s).
    package internal(set) var scanTimeoutSeconds = 10.0
    /// The time limit of a connection (1–60 s).
    package internal(set) var connectTimeoutSeconds = 5.0
    /// The delay before a response is read in the draft profile (0–5 s).
    package internal(set) var readDelaySeconds = 0.5
    package internal(set) var hold = ConnectionHold.watching
    /// Whether the bottle is polled outside the drinking hours.
    package internal(set) var pollWhenIdle = true
    /// The maximum age of a record (1–360 days).
    package internal(set) var maxRecordAgeDays = 180
    /// Whether the bottle's light shows that a drink is due.
    package internal(set) var light = false
    /// Whether the gateway acknowledges records, or leaves the bottle to the phone app.
    package internal(set) var mode = BottleMode.takeOver
    /// Whether to trust the computer's clock although no time server confirms it.
    package internal(set) var trustsClock = false
    /// Whether the bottle's display shows the goal.
    package internal(set) var showsGoal = false

    package init() {}

    package static let prefix = "bottle."
}

package enum BottleMode: String, Hashable, Sendable, CaseIterable {
    /// Records are acknowledged. The phone app no longer receives them.
    case takeOver = "take-over"
    /// The gateway only reads the log and writes nothing else to the bottle.
    case share
}

/// Whether the service stays connected between polls, to receive a drink at once.
package enum ConnectionHold: String, Hashable, Sendable, CaseIterable {
    case never
    /// While a page is open, or a client follows the events.
    case watching
    case always
}
