/// What a link that carries ATT PDUs is equipped with: a clock, an ear, faults, and somewhere to complain.
public struct LinkInstruments: Sendable {
    /// Where "now" comes from, for deadlines and for observations.
    public var clock: MonotonicClock
    /// Faults to enter between this end and the other; see `FaultPlan`.
    public var faults: FaultPlan?
    /// Of the faults' chances: the same seed and the same PDUs give the same faults.
    public var seed: UInt64
    /// Hears every PDU that passes on the link, as it passes: called on the link's own queue, so it must be quick.
    public var observe: (@Sendable (LinkObservation) -> Void)?
    /// Hears the address under which a peripheral's end is seen, where that is an adapter's: once it is open, before
    /// anything passes.
    public var identify: (@Sendable (BluetoothAddress) -> Void)?
    /// Takes one line for a person about something odd.
    public var log: @Sendable (String) -> Void

    public init(
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
public enum PDUDirection: Hashable, Sendable {
    case toPeripheral
    case toCentral
}

/// Something that passed on a link: what a recording is made of.
public struct LinkObservation: Hashable, Sendable {
    /// What passed.
    public enum Event: Hashable, Sendable {
        case connected
        case pdu(PDUDirection, [UInt8])
        case disconnected
    }

    /// Number of the connection, from 1 upwards since the link was made.
    public var connection: Int
    /// When it passed, by the link's clock.
    public var at: MonotonicInstant
    /// What passed.
    public var event: Event

    public init(connection: Int, at: MonotonicInstant, event: Event) {
        self.connection = connection
        self.at = at
        self.event = event
    }
}
