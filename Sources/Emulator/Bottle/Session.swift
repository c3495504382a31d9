import BottleProtocol
import Bluetooth

/// The state of the emulated bottle's connection to a central.
struct Session: Sendable {
    /// A value to send, with the earliest time for it.
    struct QueuedValue: Sendable {
        var outgoing: OutgoingValue
        var characteristic: BluetoothUUID
        var notBefore: MonotonicInstant
    }

    /// The number of unsent values from which further responses are dropped. A whole log in small pieces fits.
    static let capacity = 8192

    let central: CentralID
    let since: MonotonicInstant
    var mtu = 23
    /// The profile of the central's last command, which determines the characteristic of responses.
    var profile: BottleProfile
    var subscriptions: Set<BluetoothUUID> = []
    var subscribedAt: MonotonicInstant?
    /// The values to notify. Each is sent after the previous one.
    var outbox: [QueuedValue] = []
    /// The time at which a notification without a confirmation counts as lost; `nil` if there is none.
    var confirmationDeadline: MonotonicInstant?
    var earliestNext: MonotonicInstant
    /// The values to return to a central that reads (draft profile).
    var readable: [QueuedValue] = []
    var lastRead: [UInt8] = []
    /// The numbers of the sent records that are not acknowledged.
    var unacknowledged: [UInt64] = []
    var notifications = 0
    var keepAliveAt: MonotonicInstant?
    /// The time at which a client without requests receives state and log (fault `unasked`).
    var unrequestedAt: MonotonicInstant?
    var isEndless = false

    init(_ central: CentralID, _ profile: BottleProfile, at now: MonotonicInstant) {
        self.central = central
        self.profile = profile
        since = now
        earliestNext = now
    }

    /// Whether the central receives responses as notifications. Otherwise it must read them (draft profile).
    var isSubscribed: Bool { subscriptions.contains(profile.response) }

    var deadline: MonotonicInstant? {
        let next = outbox.first.map { max($0.notBefore, earliestNext) }
        let sending = confirmationDeadline ?? next ?? (isEndless ? earliestNext : nil)
        return [sending, keepAliveAt, unrequestedAt].compactMap { $0 }.min()
    }
}
