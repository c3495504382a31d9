package import Bluetooth

/// Selects PDUs of a capture. A field that is not set selects all.
package struct TrafficFilter: Sendable, Equatable {
    /// The start or end time of a selection.
    package enum Moment: Sendable, Hashable {
        /// A time since 1970.
        case absolute(Duration)
        /// A time since the first packet that has a time.
        case afterStart(Duration)
        /// The time of day (UTC) on the day of the first packet that has a time.
        case timeOfDay(Duration)
    }

    /// The address of the peer; in link-layer captures also of the central.
    package var device: BluetoothAddress?
    /// The handles in the PDU, or in the request of a response; empty for all.
    package var handles: Set<UInt16> = []
    package var from: Moment?
    /// Selects PDUs before this time.
    package var to: Moment?
    /// Selects PDUs of any of these kinds; empty for all.
    package var kinds: [TrafficKind] = []

    package init() {}

    package var isEmpty: Bool { self == TrafficFilter() }
}

extension TrafficFilter.Moment {
    /// The time since 1970, in a capture whose first packet has the time `start`.
    func resolved(from start: Duration) -> Duration {
        switch self {
        case .absolute(let time): return time
        case .afterStart(let pause): return start + pause
        case .timeOfDay(let time):
            let seconds = start.components.seconds
            let day = seconds >= 0 ? seconds / 86_400 : (seconds + 1) / 86_400 - 1
            return .seconds(day * 86_400) + time
        }
    }
}
