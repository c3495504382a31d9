/// The peripheral's side of the seam: what `CentralLink` is to the gateway, this is to the bottle.
///
/// A machine (the virtual bottle) is fed `PeripheralEvent`s and emits `PeripheralRequest`s.
public protocol PeripheralLink: AnyObject, Sendable {
    /// For people: `unix:/tmp/b.sock`, `bluez:hci1`.
    var name: String { get }
    /// What happens, in order of happening. One consumer. Ends when the link is closed for good.
    var events: AsyncStream<PeripheralEvent> { get }
    /// Hands a request over; never blocks.
    func perform(_ request: PeripheralRequest)
    /// Publishes the table and the advertisement; returns once connections are accepted.
    func open(_ application: GATTApplication) async throws(LinkError)
    /// Withdraws everything, disconnects and ends `events`.
    func close() async
    /// The address under which centrals see an open link; `nil` where there is no radio, or the system does not say.
    func ownAddress() async -> BluetoothAddress?
}

extension PeripheralLink {
    public func ownAddress() async -> BluetoothAddress? { nil }
}

/// What a peripheral shows: name, advertising data, and its services.
public struct GATTApplication: Hashable, Sendable {
    /// Device name: advertised, and served as 2A00 where the link serves the GAP service itself.
    public var name: String
    /// Services named in the advertisement (the retail bottle names none).
    public var advertisedServices: [BluetoothUUID]
    public var services: [LocalService]

    public init(name: String, advertisedServices: [BluetoothUUID] = [], services: [LocalService]) {
        self.name = name
        self.advertisedServices = advertisedServices
        self.services = services
    }
}

public struct LocalService: Hashable, Sendable {
    public var uuid: BluetoothUUID
    public var characteristics: [LocalCharacteristic]
    public init(uuid: BluetoothUUID, characteristics: [LocalCharacteristic]) {
        self.uuid = uuid
        self.characteristics = characteristics
    }
}

/// A characteristic of ours. Its UUID names it in events and requests, so it occurs once in an application.
public struct LocalCharacteristic: Hashable, Sendable {
    public var uuid: BluetoothUUID
    public var properties: CharacteristicProperties
    /// Text of the Characteristic User Description descriptor (2901); `nil`: there is none.
    public var userDescription: String?
    /// A constant that the link serves by itself; `nil`: each read is asked of the machine as `read`.
    public var constant: [UInt8]?
    /// Writes of every kind reach the machine although the properties do not offer them: some firmwares check nothing,
    /// and the bottle hangs up on writes to its response characteristic rather than refuse them.
    public var acceptsAnyWrite: Bool

    public init(
        uuid: BluetoothUUID, properties: CharacteristicProperties, userDescription: String? = nil, constant: [UInt8]? = nil,
        acceptsAnyWrite: Bool = false
    ) {
        self.uuid = uuid
        self.properties = properties
        self.userDescription = userDescription
        self.constant = constant
        self.acceptsAnyWrite = acceptsAnyWrite
    }
}

/// A connected central, as the link tells them apart.
public struct CentralID: Hashable, Sendable, CustomStringConvertible {
    public let text: String
    public init(_ text: String) { self.text = text }
    public var description: String { text }
}

public enum PeripheralEvent: Hashable, Sendable {
    case connected(CentralID)
    case disconnected(CentralID)
    case mtuChanged(CentralID, Int)
    /// A read that the machine must answer with `respond(token, …)`. Long values: the link asks once, at offset 0,
    /// and serves the following blobs from that answer; `offset` is not 0 only where a central begins in the middle.
    case read(CentralID, BluetoothUUID, offset: Int, token: UInt64)
    /// A whole write, long ones joined. Where `token` is set the machine must answer with `respond(token, …)` (value empty).
    case write(CentralID, BluetoothUUID, value: [UInt8], token: UInt64?)
    case subscribed(CentralID, BluetoothUUID)
    case unsubscribed(CentralID, BluetoothUUID)
    /// The value handed to `notify` has left; the machine may send the next. In order, one for each.
    case notified(BluetoothUUID)
    /// The adapter, bus or socket is gone; the link keeps trying and says `available` when it is published again.
    case unavailable(LinkError)
    case available
}

public enum PeripheralRequest: Hashable, Sendable {
    /// Answers the read or write with that token: a value, or an ATT error code (Core 5.4, Vol 3 Part F, table 3.4).
    case respond(token: UInt64, Response)
    /// Sends a value to every subscriber; cut to MTU - 3 by the bearer as a real stack cuts it.
    case notify(BluetoothUUID, value: [UInt8])
    /// Ends the connection from our side.
    case disconnect(CentralID)
    /// Shows or withdraws the advertisement. A bottle is not seen while somebody is connected.
    case advertise(Bool)

    public enum Response: Hashable, Sendable {
        case value([UInt8])
        case error(UInt8)
    }
}
