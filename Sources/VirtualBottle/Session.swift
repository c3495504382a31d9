import BottleProtocol
import Bluetooth

/// One central's connection. The bottle has one at a time.
struct Session: Sendable {
    /// A value with the time before which it does not leave.
    struct Waiting: Sendable {
        var outgoing: Outgoing
        var notBefore: MonotonicInstant
    }

    /// Values waiting for a central that does not take them. More than a whole log, cut small, needs.
    static let capacity = 8192

    let central: CentralID
    let since: MonotonicInstant
    var mtu = 23
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
    /// Records sent and not yet acknowledged, in the order sent.
    var sent: [UInt64] = []
    var notifications = 0
    var keepAliveAt: MonotonicInstant?
    var isEndless = false

    init(_ central: CentralID, at now: MonotonicInstant) {
        self.central = central
        since = now
        earliestNext = now
    }

    var deadline: MonotonicInstant? {
        let next = outbox.first.map { max($0.notBefore, earliestNext) }
        let sending = inFlightUntil ?? next ?? (isEndless ? earliestNext : nil)
        return [sending, keepAliveAt].compactMap { $0 }.min()
    }
}
