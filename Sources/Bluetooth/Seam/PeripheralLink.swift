/// The peripheral's side of the seam: what `CentralLink` is to the gateway, this is to the bottle.
///
/// A machine (the virtual bottle) is fed `PeripheralEvent`s and emits `PeripheralRequest`s.
package protocol PeripheralLink: AnyObject, Sendable {
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
    /// Returns when the consumer of `events` is done with all that has happened until now: what a central did before it
    /// heard a response of ours is known then.
    func caughtUp() async
    /// The address under which centrals see an open link; `nil` where there is no radio, or the system does not say.
    func ownAddress() async -> BluetoothAddress?
}

extension PeripheralLink {
    package func caughtUp() async {}
    package func ownAddress() async -> BluetoothAddress? { nil }
}

/// What a peripheral shows: name, advertising data, and its services.
package struct GATTApplication: Hashable, Sendable {
    /// Device name: advertised, and served as 2A00 where the link serves the GAP service itself.
    package var name: String
    /// Services named in the advertisement (the retail bottle names none).
    package var advertisedServices: [BluetoothUUID]
    /// Services in the order in which they stand in the table.
    package var services: [LocalService]
    /// The services are all that there is: a link that serves attributes itself adds no GAP (1800) and GATT (1801) of
    /// its own.
    package var isWholeTable = false
    /// The ATT MTU offered to centrals, 23–517, where the link and not the system offers it.
    package var maximumMTU = 517
    /// Advertising data as it is to be on the air; `nil`: made of name and advertised services.
    package var advertisement: AdvertisingBytes?

    package init(name: String, advertisedServices: [BluetoothUUID] = [], services: [LocalService]) {
        self.name = name
        self.advertisedServices = advertisedServices
        self.services = services
    }
}

/// AD structures (`length type data`*) of an advertisement and of the answer to a scan request, at most 31 bytes each.
package struct AdvertisingBytes: Hashable, Sendable {
    /// Of the advertisement itself.
    package var data: [UInt8]
    /// Of the answer to a scan request.
    package var scanResponse: [UInt8]

    package init(data: [UInt8], scanResponse: [UInt8]) {
        self.data = data
        self.scanResponse = scanResponse
    }
}

/// A service of ours.
package struct LocalService: Hashable, Sendable {
    /// What the service is.
    package var uuid: BluetoothUUID
    /// Its characteristics, in the order of their handles.
    package var characteristics: [LocalCharacteristic]
    /// Handle of the declaration; `nil`: the next that is free. Handles of our own count on links that serve attributes
    /// themselves.
    package var handle: UInt16?
    /// Last handle of the service; `nil`: its last attribute's.
    package var end: UInt16?
    /// A secondary service is found only through services that include it.
    package var isPrimary = true
    /// Services that it includes.
    package var includes: [LocalInclude] = []
    package init(uuid: BluetoothUUID, characteristics: [LocalCharacteristic]) {
        self.uuid = uuid
        self.characteristics = characteristics
    }
}

/// A service that another one includes, by its handles.
package struct LocalInclude: Hashable, Sendable {
    /// Of the include declaration; `nil`: the next that is free.
    package var handle: UInt16?
    /// Handle of the included service's declaration.
    package var start: UInt16
    /// Its last handle.
    package var end: UInt16
    /// `nil`: the declaration does not say (128 bits do not fit there).
    package var uuid: BluetoothUUID?

    package init(handle: UInt16?, start: UInt16, end: UInt16, uuid: BluetoothUUID?) {
        self.handle = handle
        self.start = start
        self.end = end
        self.uuid = uuid
    }
}

/// A descriptor of ours beside those that the link makes.
package struct LocalDescriptor: Hashable, Sendable {
    /// Its type.
    package var uuid: BluetoothUUID
    /// Names it in events: reads and writes are asked of the machine. Of 2902, which is always the link's, it names
    /// nothing.
    package var name: BluetoothUUID
    /// `nil`: the next that is free.
    package var handle: UInt16?
    /// As of a characteristic: some firmwares notify even from there.
    package var notifiesAnybody = false

    package init(uuid: BluetoothUUID, name: BluetoothUUID, handle: UInt16? = nil) {
        self.uuid = uuid
        self.name = name
        self.handle = handle
    }
}

/// A characteristic of ours.
package struct LocalCharacteristic: Hashable, Sendable {
    /// What it is.
    package var uuid: BluetoothUUID
    /// How events and requests call it: once in an application. Its UUID, unless that occurs several times.
    package var name: BluetoothUUID
    /// Handles of declaration and value; `nil`: the next that are free.
    package var declaration: UInt16?
    /// Handle of the value; `nil`: the next that is free.
    package var handle: UInt16?
    /// In order. With 2902 among them the link makes no other one.
    package var descriptors: [LocalDescriptor] = []
    /// Its values go to everybody who is connected, subscribed or not: some firmwares notify what they do not offer to.
    /// On links that serve attributes themselves.
    package var notifiesAnybody = false
    /// Reads reach the machine although the properties do not offer them.
    package var acceptsAnyRead = false
    /// What its declaration says may be done with its value.
    package var properties: CharacteristicProperties
    /// Text of the Characteristic User Description descriptor (2901); `nil`: there is none.
    package var userDescription: String?
    /// A constant that the link serves by itself; `nil`: each read is asked of the machine as `read`.
    package var constant: [UInt8]?
    /// Writes of every kind reach the machine although the properties do not offer them: some firmwares check nothing,
    /// and the bottle hangs up on writes to its response characteristic rather than refuse them.
    package var acceptsAnyWrite: Bool

    package init(
        uuid: BluetoothUUID, properties: CharacteristicProperties, userDescription: String? = nil,
        constant: [UInt8]? = nil,
        acceptsAnyWrite: Bool = false
    ) {
        self.uuid = uuid
        name = uuid
        self.properties = properties
        self.userDescription = userDescription
        self.constant = constant
        self.acceptsAnyWrite = acceptsAnyWrite
    }
}

/// A connected central, as the link tells them apart.
package struct CentralID: Hashable, Sendable, CustomStringConvertible {
    /// The name as the link writes it.
    package let text: String
    /// The central of that name.
    package init(_ text: String) { self.text = text }
    /// The name.
    package var description: String { text }
}

/// What a link tells a peripheral.
package enum PeripheralEvent: Hashable, Sendable {
    case connected(CentralID)
    case disconnected(CentralID)
    case mtuChanged(CentralID, Int)
    /// A read that the machine must answer with `respond(token, …)`. Long values: the link asks once, at offset 0,
    /// and serves the following blobs from that answer; `offset` is not 0 only where a central begins in the middle.
    case read(CentralID, BluetoothUUID, offset: Int, token: UInt64)
    /// A whole write, long ones joined. Where `token` is set the machine must answer with `respond(token, …)` (value
    /// empty).
    case write(CentralID, BluetoothUUID, value: [UInt8], token: UInt64?)
    case subscribed(CentralID, BluetoothUUID)
    case unsubscribed(CentralID, BluetoothUUID)
    /// The value handed to `notify` has left; the machine may send the next. In order, one for each.
    case notified(BluetoothUUID)
    /// The adapter, bus or socket is gone; the link keeps trying and says `available` when it is published again.
    case unavailable(LinkError)
    case available
}

/// What a peripheral asks of its link.
package enum PeripheralRequest: Hashable, Sendable {
    /// Answers the read or write with that token: a value, or an ATT error code (Core 5.4, Vol 3 Part F, table 3.4).
    case respond(token: UInt64, Response)
    /// Sends a value to every subscriber; cut to MTU - 3 by the bearer as a real stack cuts it.
    case notify(BluetoothUUID, value: [UInt8])
    /// Ends the connection from our side.
    case disconnect(CentralID)
    /// Shows or withdraws the advertisement. A bottle is not seen while somebody is connected.
    case advertise(Bool)

    /// The answer to a read or write: a value, or an ATT error.
    package enum Response: Hashable, Sendable {
        case value([UInt8])
        case error(UInt8)
    }
}
