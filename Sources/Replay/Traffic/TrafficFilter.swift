import Bluetooth

/// Which PDUs of a capture are looked at. Everything that is not narrowed down is wanted.
public struct TrafficFilter: Sendable, Equatable {
    /// A point in a capture.
    public enum Moment: Sendable, Hashable {
        /// Since 1970.
        case absolute(Duration)
        /// After the first packet that has a time.
        case afterStart(Duration)
        /// Time of day (UTC) on the day of the first packet that has a time.
        case timeOfDay(Duration)
    }

    /// The other side of the connection; on the air also the central.
    public var device: BluetoothAddress?
    /// Handles that the PDU, or the request that it answers, names; empty: all.
    public var handles: Set<UInt16> = []
    /// From this moment on.
    public var from: Moment?
    /// Before this moment.
    public var to: Moment?
    /// Any of these kinds; empty: all.
    public var kinds: [TrafficKind] = []

    /// Everything is wanted.
    public init() {}

    /// Everything is wanted.
    public var isEmpty: Bool { self == TrafficFilter() }

    /// Everything but the device is wanted.
    public var isEmptyBesideDevice: Bool {
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
