/// What a link that carries ATT PDUs is equipped with: a clock, an ear, faults, and somewhere to complain.
package struct LinkInstruments: Sendable {
    /// Where "now" comes from, for deadlines and for observations.
    package var clock: MonotonicClock
    /// Faults to enter between this end and the other; see `FaultPlan`.
    package var faults: FaultPlan?
    /// Of the faults' chances: the same seed and the same PDUs give the same faults.
    package var seed: UInt64
    /// Hears every PDU that passes on the link, as it passes: called on the link's own queue, so it must be quick.
    package var observe: (@Sendable (LinkObservation) -> Void)?
    /// Hears the address under which a peripheral's end is seen, where that is an adapter's: once it is open, before
    /// anything passes.
    package var identify: (@Sendable (BluetoothAddress) -> Void)?
    /// Takes one line for a person about something odd.
    package var log: @Sendable (String) -> Void

    package init(
        clock: MonotonicClock = .system, faults: FaultPlan? = nil, seed: UInt64 = 0,
        observe: (@Sendable (LinkObservation) -> Void)? = nil, identify: (@Sendable (BluetoothAddress) -> Void)? = nil,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.clock = clock
        self.faults = faults
        self.seed = seed
        self.observe = observe
        self.identify = identify
        self.log = log
    }
}

/// Which way a PDU goes.
package enum PDUDirection: Hashable, Sendable {
    case toPeripheral
    case toCentral
}

/// Something that passed on a link: what a recording is made of.
package struct LinkObservation: Hashable, Sendable {
    /// What passed.
    package enum Event: Hashable, Sendable {
        case connected
        case pdu(PDUDirection, [UInt8])
        case disconnected
    }

    /// Number of the connection, from 1 upwards since the link was made.
    package var connection: Int
    /// When it passed, by the link's clock.
    package var at: MonotonicInstant
    /// What passed.
    package var event: Event

    package init(connection: Int, at: MonotonicInstant, event: Event) {
        self.connection = connection
        self.at = at
        self.event = event
    }
}
