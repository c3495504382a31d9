import BottleProtocol
import Bluetooth

struct Session: Sendable {
    /// A value with the earliest time at which it is sent.
    struct Waiting: Sendable {
        var outgoing: Outgoing
        var outlet: BluetoothUUID
        var notBefore: MonotonicInstant
    }

    /// The maximum number of values for a central that does not receive them. A whole log in small pieces fits.
    static let capacity = 8192

    let central: CentralID
    let since: MonotonicInstant
    var mtu = 23
    /// The profile of the central's last command, which its responses use.
    var profile: BottleProfile
    var subscriptions: Set<BluetoothUUID> = []
    var subscribedAt: MonotonicInstant?
    /// The values for subscribers. Each waits until the previous one is sent.
    var outbox: [Waiting] = []
    /// The time at which the value in flight counts as lost.
    var inFlightUntil: MonotonicInstant?
    var earliestNext: MonotonicInstant
    /// The values for a central that reads (draft profile).
    var readable: [Waiting] = []
    var lastRead: [UInt8] = []
    /// The numbers of sent records without an acknowledgement.
    var sent: [UInt64] = []
    var notifications = 0
    var keepAliveAt: MonotonicInstant?
    /// The time at which a silent client receives state and log (`unasked`).
    var unaskedAt: MonotonicInstant?
    var isEndless = false

    init(_ central: CentralID, _ profile: BottleProfile, at now: MonotonicInstant) {
        self.central = central
        self.profile = profile
        since = now
        earliestNext = now
    }

    /// Whether the central receives responses by notification; otherwise it reads (draft) or receives nothing.
    var isListening: Bool { subscriptions.contains(profile.response) }

    var deadline: MonotonicInstant? {
        let next = outbox.first.map { max($0.notBefore, earliestNext) }
        let sending = inFlightUntil ?? next ?? (isEndless ? earliestNext : nil)
        return [sending, keepAliveAt, unaskedAt].compactMap { $0 }.min()
    }
}
