import Bluetooth
import Emulator

/// Something that a person or the world does at a time, counted from the start of the day.
package struct ScenarioStep: Hashable, Sendable {
    /// When, since the day's start.
    package var at: Duration
    /// What is done.
    package var act: Act

    package init(_ at: Duration, _ act: Act) {
        self.at = at
        self.act = act
    }

    /// What happens.
    package enum Act: Hashable, Sendable {
        /// Somebody drinks, ml.
        case sip(ml: Int)
        /// Somebody asks the bottle for its log.
        case poll(Poll)
        /// The bottle's battery is taken out for a moment: its clock starts at zero, its flash stays.
        case powerLoss
        /// The bottle's clock is set wrong by so much.
        case bottleClock(Duration)
        /// The host's wall clock jumps.
        case hostClock(Duration)
        /// The bottle restarts from its flash.
        case restart
        /// The bottle has other habits from now on.
        case habits(BottleFaults)
        /// The connection ends.
        case drop
        /// The bottle is out of reach for so long: carried off, or held by a phone.
        case away(Duration)
        /// The gateway's process dies, in whatever it was doing; the store survives.
        case kill
        /// The host restarts: the process dies, and the kernel's clock begins anew.
        case reboot
        /// The host sleeps for so long: the connection ends, and what was due comes when it wakes.
        case sleep(Duration)
        /// The disk is full, or has room again.
        case disk(isFull: Bool)
        /// The house's broker cannot be reached for so long.
        case brokerAway(Duration)
        /// The host's owner travels: its zone is another one from now on.
        case zone(String)
    }

    /// One poll, with what goes wrong in it.
    package struct Poll: Hashable, Sendable {
        /// What goes wrong on its link.
        package var link: FaultPlan
        /// Who asks: `nil` is the gateway of the house; any other has a journal of its own.
        package var other: String?
        /// Nothing is acknowledged.
        package var keeps: Bool
        /// The gateway dies after so many effects.
        package var killAfter: Int?
        /// Whether that kill strikes before the effect at which it comes.
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
    /// The step without its time.
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
    /// What is not a plain poll of the gateway, each part after a blank.
    package var description: String {
        (other.map { " by \($0)" } ?? "") + (link.text.isEmpty ? "" : " with \(link.text)")
            + (keeps ? " without acknowledgement" : "")
            + (killAfter.map { " killed \(beforeIt ? "before" : "after") effect \($0)" } ?? "")
    }
}

extension Duration {
    var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
