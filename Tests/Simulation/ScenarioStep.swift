package import Bluetooth
package import Emulator

/// An event at a time since the start of the day.
package struct ScenarioStep: Hashable, Sendable {
    package var at: Duration
    package var action: Action

    package init(_ at: Duration, _ action: Action) {
        self.at = at
        self.action = action
    }

    package enum Action: Hashable, Sendable {
        /// A drink, ml.
        case sip(ml: Int)
        case poll(Poll)
        /// The bottle loses power briefly: its clock restarts at zero, its flash stays.
        case powerLoss
        /// Offsets the bottle's clock by this duration.
        case bottleClock(Duration)
        /// The host's wall clock jumps by this duration.
        case hostClock(Duration)
        case restart
        /// Replaces the bottle's faults from now on.
        case faults(BottleFaults)
        case disconnect
        /// The bottle is unreachable for this time: out of range, or connected to a phone.
        case outOfRange(Duration)
        case kill
        /// The host sleeps for this time: the connection ends, and timers fire on wake-up.
        case sleep(Duration)
        case disk(isFull: Bool)
        case zone(String)
    }

    package struct Poll: Hashable, Sendable {
        package var link: FaultPlan
        /// The name of another polling central, which has its own journal; `nil`: the tested gateway.
        package var otherCentral: String?
        /// Whether the central acknowledges nothing, so that the records stay in the bottle.
        package var keepsRecords: Bool
        /// Kills the gateway after this number of effects.
        package var killAfter: Int?
        /// Whether the kill precedes the effect with that number.
        package var killsBeforeEffect: Bool

        package init(
            link: FaultPlan = FaultPlan(), otherCentral: String? = nil, keepsRecords: Bool = false,
            killAfter: Int? = nil, killsBeforeEffect: Bool = false
        ) {
            self.link = link
            self.otherCentral = otherCentral
            self.keepsRecords = keepsRecords
            self.killAfter = killAfter
            self.killsBeforeEffect = killsBeforeEffect
        }
    }
}

extension ScenarioStep: CustomStringConvertible {
    /// `28800.0 seconds: sip of 120 ml`
    package var description: String { "\(at): \(action)" }
}

extension ScenarioStep.Action: CustomStringConvertible {
    package var description: String {
        switch self {
        case .sip(let ml): "sip of \(ml) ml"
        case .poll(let poll): "poll\(poll)"
        case .powerLoss: "power loss"
        case .bottleClock(let by): "bottle clock off by \(by)"
        case .hostClock(let by): "host clock jumps by \(by)"
        case .restart: "bottle restarts"
        case .faults(let faults): "bottle faults \(faults.text)"
        case .disconnect: "disconnect"
        case .outOfRange(let span): "bottle out of reach for \(span)"
        case .kill: "gateway killed"
        case .sleep(let span): "host sleeps for \(span)"
        case .disk(let isFull): isFull ? "disk full" : "disk has room"
        case .zone(let id): "zone \(id)"
        }
    }
}

extension ScenarioStep.Poll: CustomStringConvertible {
    /// The deviations from a plain poll of the gateway, each after a space.
    package var description: String {
        (otherCentral.map { " by \($0)" } ?? "") + (link.text.isEmpty ? "" : " with \(link.text)")
            + (keepsRecords ? " without acknowledgement" : "")
            + (killAfter.map { " killed \(killsBeforeEffect ? "before" : "after") effect \($0)" } ?? "")
    }
}

extension Duration {
    var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
