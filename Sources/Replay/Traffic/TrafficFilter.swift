import Bluetooth

/// Which PDUs of a capture are looked at. Everything that is not narrowed down is wanted.
package struct TrafficFilter: Sendable, Equatable {
    /// A point in a capture.
    package enum Moment: Sendable, Hashable {
        /// Since 1970.
        case absolute(Duration)
        /// After the first packet that has a time.
        case afterStart(Duration)
        /// Time of day (UTC) on the day of the first packet that has a time.
        case timeOfDay(Duration)
    }

    /// The other side of the connection; on the air also the central.
    package var device: BluetoothAddress?
    /// Handles that the PDU, or the request that it answers, names; empty: all.
    package var handles: Set<UInt16> = []
    /// From this moment on.
    package var from: Moment?
    /// Before this moment.
    package var to: Moment?
    /// Any of these kinds; empty: all.
    package var kinds: [TrafficKind] = []

    /// Everything is wanted.
    package init() {}

    /// Everything is wanted.
    package var isEmpty: Bool { self == TrafficFilter() }

    /// Everything but the device is wanted.
    package var isEmptyBesideDevice: Bool {
        var rest = self
        rest.device = nil
        return rest.isEmpty
    }
}

extension TrafficFilter.Moment {
    /// Since 1970, in a capture whose first packet has the time `start`.
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
