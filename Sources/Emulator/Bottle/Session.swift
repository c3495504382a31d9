import BottleProtocol
import Bluetooth

/// One central's connection. The bottle has one at a time.
struct Session: Sendable {
    /// A value with the time before which it does not leave.
    struct Waiting: Sendable {
        var outgoing: Outgoing
        /// The response characteristic that it leaves by.
        var outlet: BluetoothUUID
        var notBefore: MonotonicInstant
    }

    /// Values waiting for a central that does not take them. More than a whole log, cut small, needs.
    static let capacity = 8192

    let central: CentralID
    let since: MonotonicInstant
    var mtu = 23
    /// The profile in which the central spoke last: answers go there.
    var profile: BottleProfile
    var subscriptions: Set<BluetoothUUID> = []
    var subscribedAt: MonotonicInstant?
    /// Values for subscribers; the next leaves when the one before is through.
    var outbox: [Waiting] = []
    /// When the value on its way is given up as lost in the link.
    var inFlightUntil: MonotonicInstant?
    var earliestNext: MonotonicInstant
    /// Values for a central that reads instead (draft).
    var readable: [Waiting] = []
    var lastRead: [UInt8] = []
    /// Records sent and not yet acknowledged.
    var sent: [UInt64] = []
    var notifications = 0
    var keepAliveAt: MonotonicInstant?
    /// When a listener that has asked nothing is told all the same (habit `unasked`).
    var unaskedAt: MonotonicInstant?
    var isEndless = false

    init(_ central: CentralID, _ profile: BottleProfile, at now: MonotonicInstant) {
        self.central = central
        self.profile = profile
        since = now
        earliestNext = now
    }

    /// Whether the central is told by notification what it asks for; otherwise it reads (draft) or hears nothing.
    var isListening: Bool { subscriptions.contains(profile.response) }

    var deadline: MonotonicInstant? {
        let next = outbox.first.map { max($0.notBefore, earliestNext) }
        let sending = inFlightUntil ?? next ?? (isEndless ? earliestNext : nil)
        return [sending, keepAliveAt, unaskedAt].compactMap { $0 }.min()
    }
}
