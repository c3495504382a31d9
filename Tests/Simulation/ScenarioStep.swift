package import Bluetooth
package import Emulator

/// An event at a time since the start of the day.
package struct ScenarioStep: Hashable, Sendable {
    package var at: Duration
    package var act: Act

    package init(_ at: Duration, _ act: Act) {
        self.at = at
        self.act = act
    }

    package enum Act: Hashable, Sendable {
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
        case habits(BottleFaults)
        case drop
        /// The bottle is unreachable for this time: out of range, or connected to a phone.
        case away(Duration)
        case kill
        /// The host restarts: the process ends, and the kernel's clock starts again.
        case reboot
        /// The host sleeps for this time: the connection ends, and timers fire on wake-up.
        case sleep(Duration)
        case disk(isFull: Bool)
        /// The broker is unreachable for this time.
        case brokerAway(Duration)
        case zone(String)
    }

    package struct Poll: Hashable, Sendable {
        package var link: FaultPlan
        /// The central: `nil` is the gateway; any other has a journal of its own.
        package var other: String?
        package var keeps: Bool
        /// Kills the gateway after this number of effects.
        package var killAfter: Int?
        /// Whether the kill precedes the effect with that number.
        package var beforeIt: Bool

        package init(
            link: FaultPlan = FaultPlan(), other: String? = nil, keeps: Bool = false, killAfter: Int? = nil,
            beforeIt: Bool = false
        ) {
            self.link = link
            self.other = other
            self.keeps = keeps
            self.killAfter = killAfter
            self.beforeIt = beforeIt
        }
    }
}

extension ScenarioStep: CustomStringConvertible {
    /// `28800.0 seconds: sip of 120 ml`
    package var description: String { "\(at): \(act)" }
}

extension ScenarioStep.Act: CustomStringConvertible {
    package var description: String {
        switch self {
        case .sip(let ml): "sip of \(ml) ml"
        case .poll(let poll): "poll\(poll)"
        case .powerLoss: "power loss"
        case .bottleClock(let by): "bottle clock off by \(by)"
        case .hostClock(let by): "host clock jumps by \(by)"
        case .restart: "bottle restarts"
        case .habits(let faults): "bottle faults \(faults.text)"
        case .drop: "disconnect"
        case .away(let span): "bottle out of reach for \(span)"
        case .kill: "gateway killed"
        case .reboot: "host restarts"
        case .sleep(let span): "host sleeps for \(span)"
        case .disk(let isFull): isFull ? "disk full" : "disk has room"
        case .brokerAway(let span): "broker away for \(span)"
        case .zone(let id): "zone \(id)"
        }
    }
}

extension ScenarioStep.Poll: CustomStringConvertible {
    /// The deviations from a plain poll of the gateway, each after a space.
    package var description: String {
        (other.map { " by \($0)" } ?? "") + (link.text.isEmpty ? "" : " with \(link.text)")
            + (keeps ? " without acknowledgement" : "")
            + (killAfter.map { " killed \(beforeIt ? "before" : "after") effect \($0)" } ?? "")
    }
}

extension Duration {
    var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
