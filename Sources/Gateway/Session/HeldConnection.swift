import BottleProtocol
import Bluetooth
import TrackerCore

/// A connection that a poll kept, with all that the next one needs to go on with it: whom it is with, and how they
/// talk.
///
/// What happens to it between two polls is noted here; whatever is read from the bottle is read by a poll, so that
/// there is one way to the journal.
package struct HeldConnection: Hashable, Sendable {
    /// What happened between two polls.
    package enum News: Hashable, Sendable {
        /// The bottle said something by itself: its log is worth a look.
        case stirred
        case lost
    }

    let peer: PeerID
    let seen: Advertisement?
    let table: BottleTable
    private(set) var mtu: Int
    let isListening: Bool
    let name: String?
    let model: BottleModel?
    /// As the report spoke of it.
    let bottle: String?
    let identity: String
    let serialNumber: String?
    let recognised: String?
    /// Answers to questions of the poll before may still be on their way.
    private(set) var isBehind: Bool
    /// What the bottle last said of itself, where nothing has been set since.
    let facts: Facts?

    /// A snapshot, for looks that follow it soon: each exchange takes time that a sip waits for, and the bottle's
    /// battery.
    struct Facts: Hashable, Sendable {
        static let freshness = Duration.seconds(60)

        var snapshot: Snapshot
        var batteryPercent: Int?
        var driftSeconds: Int
        var now: MonotonicInstant
        var wall: Instant

        /// Young, and this computer's clock has gone on as time has.
        func isFresh(_ work: PollWork) -> Bool {
            let passed = now.duration(to: work.now)
            return passed < Self.freshness && abs(wall.seconds(to: work.wall) - passed / .seconds(1)) < 1
        }
    }

    init?(_ session: BottleSession, with peer: PeerID?, _ work: PollWork) {
        guard let peer, let table = session.table, let identity = work.report.identity else { return nil }
        self.peer = peer
        self.table = table
        self.identity = identity
        seen = work.seen
        mtu = session.mtu
        isListening = session.isListening
        (name, model, bottle) = (work.report.name, work.report.model, work.report.bottle)
        (serialNumber, recognised) = (work.serialNumber, work.recognised)
        isBehind = session.drain?.isBehind ?? session.wasBehind
        if let snapshot = work.report.snapshot, let drift = work.report.clockDriftSeconds, let at = work.snapshotAt,
            SettingsPlan.command(work) == nil, SettingsPlan.goal(work) == nil
        {
            facts = Facts(
                snapshot: snapshot, batteryPercent: work.report.batteryPercent, driftSeconds: drift, now: at.now,
                wall: at.wall)
        } else {
            facts = nil
        }
    }

    /// Whether a poll with these options is for this bottle. What it may take from it is asked anew all the same.
    func isMeant(by options: PollOptions) -> Bool {
        if let wanted = options.bottle {
            return identity == wanted
                || BottleSelector(text: wanted).matches(address: BluetoothAddress(identity), name: name)
        }
        func isOf(_ bottles: [OwnBottle]) -> Bool {
            bottles.contains { $0.answers(to: identity, alias: options.alias) }
        }
        return !isOf(options.others) && (options.own.isEmpty || isOf(options.own))
    }

    /// Takes note of what happens on the link while no poll is under way.
    package mutating func note(_ event: CentralEvent) -> News? {
        switch event {
        case .disconnected, .unavailable: return .lost
        case .mtuChanged(let size):
            mtu = size
            return nil
        case .notification(let handle, let value) where handle == table.response:
            // Log bytes that nobody asked for just now belong to an earlier question.
            if (try? Frame(decoding: value))?.operation != .report { isBehind = true }
            return .stirred
        default: return nil
        }
    }
}
