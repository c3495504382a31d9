import Bluetooth
import BottleProtocol

/// What a day needs of the machine on which it is held.
public struct DaySurroundings: Sendable {
    /// A way to the bottle; what passes on it goes into the recording of that name, from its first byte.
    public var open: @Sendable (_ chapter: String) async throws -> any CentralLink
    /// That way's recording is on the disk by now. Throws where it is not whole.
    public var close: @Sendable (_ chapter: String) async throws -> Void
    /// Writes records of 13 bytes down so that no power cut takes them back, or throws.
    public var keep: @Sendable (_ records: [[UInt8]]) async throws -> Void
    /// Stores the bottle's whole log where it is counted, and acknowledges nothing: the records that are stored now.
    /// Throws where it was not read to its end.
    public var store: @Sendable () async throws -> Set<[UInt8]>
    /// When this address advertised, where the air is recorded; ascending.
    public var advertised: @Sendable (_ address: BluetoothAddress) async -> [Duration]
    /// Whether somebody seen is the bottle that is meant.
    public var isWanted: @Sendable (Advertisement) -> Bool
    /// Who is asked.
    public var person: any DayPerson
    /// A sentence on how things go.
    public var say: @Sendable (String) -> Void
    /// Where "now" comes from, for limits.
    public var clock: MonotonicClock
    /// Local wall time of this machine.
    public var wall: @Sendable () -> BottleClock

    public init(
        person: any DayPerson, clock: MonotonicClock = .system, wall: @escaping @Sendable () -> BottleClock,
        say: @escaping @Sendable (String) -> Void,
        isWanted: @escaping @Sendable (Advertisement) -> Bool,
        open: @escaping @Sendable (String) async throws -> any CentralLink,
        close: @escaping @Sendable (String) async throws -> Void,
        keep: @escaping @Sendable ([[UInt8]]) async throws -> Void,
        store: @escaping @Sendable () async throws -> Set<[UInt8]>,
        advertised: @escaping @Sendable (BluetoothAddress) async -> [Duration]
    ) {
        (self.person, self.clock, self.wall, self.say, self.isWanted) = (person, clock, wall, say, isWanted)
        (self.open, self.close, self.keep, self.store, self.advertised) = (open, close, keep, store, advertised)
    }
}
