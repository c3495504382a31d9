/// The options of a link that carries ATT PDUs: clock, faults, observer and log.
package struct LinkInstruments: Sendable {
    package var clock: MonotonicClock
    package var faults: FaultPlan?
    package var seed: UInt64
    /// Observes every PDU. The link calls it on its own queue, so it must not block.
    package var observe: (@Sendable (LinkObservation) -> Void)?
    /// Reports the adapter address of a peripheral when the link is open, before any PDU.
    package var identify: (@Sendable (BluetoothAddress) -> Void)?
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

package enum PDUDirection: Hashable, Sendable {
    case toPeripheral
    case toCentral
}

/// An observed event of a link, as recordings store it.
package struct LinkObservation: Hashable, Sendable {
    package enum Event: Hashable, Sendable {
        case connected
        case pdu(PDUDirection, [UInt8])
        case disconnected
    }

    /// The number of the connection since the link was made, from 1.
    package var connection: Int
    package var at: MonotonicInstant
    package var event: Event
}
