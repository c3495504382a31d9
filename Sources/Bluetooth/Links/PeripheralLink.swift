/// The peripheral role of a link. A state machine receives its events and sends requests.
package protocol PeripheralLink: AnyObject, Sendable {
    /// The link's name in messages: `unix:/tmp/b.sock`, `bluez:hci1`.
    var name: String { get }
    /// The events, for one consumer. The stream ends when the link is closed.
    var events: AsyncStream<PeripheralEvent> { get }
    /// Sends a request without blocking.
    func perform(_ request: PeripheralRequest)
    /// Publishes the services and the advertisement. Returns when the link accepts connections.
    func open(_ application: GATTApplication) async throws(LinkError)
    /// Unregisters everything, disconnects and ends `events`.
    func close() async
    /// Returns when the consumer has processed all events so far.
    func waitUntilEventsAreProcessed() async
    /// The address of an open link's adapter, or `nil` if there is no radio or the address is unknown.
    func ownAddress() async -> BluetoothAddress?
}

extension PeripheralLink {
    package func waitUntilEventsAreProcessed() async {}
    package func ownAddress() async -> BluetoothAddress? { nil }
}

/// The name, advertising data and services of a peripheral.
package struct GATTApplication: Hashable, Sendable {
    /// The device name, advertised and served as 2A00 where the link serves the GAP service.
    package var name: String
    /// The service UUIDs in the advertisement. The retail bottle has none.
    package var advertisedServices: [BluetoothUUID]
    package var services: [LocalService]
    /// Whether the services are complete: the link must not add the GAP (1800) and GATT (1801) services.
    package var isCompleteTable = false
    /// The ATT MTU (23–517) that the link offers. On some links the system decides.
    package var maximumMTU = 517
    /// The advertising data, or `nil` to build it from the name and the advertised services.
    package var advertisement: AdvertisingBytes?

    package init(name: String, advertisedServices: [BluetoothUUID] = [], services: [LocalService]) {
        self.name = name
        self.advertisedServices = advertisedServices
        self.services = services
    }
}

/// AD structures (`length type data`*) of an advertisement and of a scan response, at most 31 bytes each.
package struct AdvertisingBytes: Hashable, Sendable {
    package var data: [UInt8]
    package var scanResponse: [UInt8]

    package init(data: [UInt8], scanResponse: [UInt8]) {
        self.data = data
        self.scanResponse = scanResponse
    }
}

package struct LocalService: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var characteristics: [LocalCharacteristic]
    /// The handle of the declaration, or `nil` for the next free handle. Only links that serve attributes use it.
    package var handle: UInt16?
    /// The last handle of the service, or `nil` for its last attribute.
    package var end: UInt16?
    /// A secondary service is found only through the services that include it.
    package var isPrimary = true
    package var includes: [LocalInclude] = []
    package init(uuid: BluetoothUUID, characteristics: [LocalCharacteristic]) {
        self.uuid = uuid
        self.characteristics = characteristics
    }
}

package struct LocalInclude: Hashable, Sendable {
    /// The handle of the declaration, or `nil` for the next free handle.
    package var handle: UInt16?
    /// The first handle of the included service.
    package var start: UInt16
    /// The last handle of the included service.
    package var end: UInt16
    /// The UUID in the declaration, or `nil` for a 128-bit UUID, which does not fit.
    package var uuid: BluetoothUUID?

    package init(handle: UInt16?, start: UInt16, end: UInt16, uuid: BluetoothUUID?) {
        self.handle = handle
        self.start = start
        self.end = end
        self.uuid = uuid
    }
}

/// A descriptor in the local attribute table, in addition to those that the link adds.
package struct LocalDescriptor: Hashable, Sendable {
    package var uuid: BluetoothUUID
    /// The identifier in read and write events. The link itself handles the 2902 descriptor (subscriptions).
    package var id: BluetoothUUID
    /// The handle, or `nil` for the next free one.
    package var handle: UInt16?

    package init(uuid: BluetoothUUID, id: BluetoothUUID, handle: UInt16? = nil) {
        self.uuid = uuid
        self.id = id
        self.handle = handle
    }
}

package struct LocalCharacteristic: Hashable, Sendable {
    package var uuid: BluetoothUUID
    /// The unique identifier in events and requests: the UUID, unless several characteristics have this UUID.
    package var id: BluetoothUUID
    /// The handle of the declaration, or `nil` for the next free handle.
    package var declaration: UInt16?
    /// The handle of the value, or `nil` for the next free handle.
    package var handle: UInt16?
    /// The descriptors in order. The link adds a 2902 descriptor only if there is none.
    package var descriptors: [LocalDescriptor] = []
    /// Whether reads are accepted although the properties do not allow them.
    package var acceptsAnyRead = false
    package var properties: CharacteristicProperties
    /// The Characteristic User Description (2901), or `nil` for none.
    package var userDescription: String?
    /// A constant value that the link serves, or `nil` to send a `read` event for each read.
    package var constant: [UInt8]?
    /// Whether writes are accepted although the properties do not allow them. The bottle disconnects after a write to
    /// its response characteristic instead of rejecting it.
    package var acceptsAnyWrite: Bool

    package init(
        uuid: BluetoothUUID, properties: CharacteristicProperties, userDescription: String? = nil,
        constant: [UInt8]? = nil,
        acceptsAnyWrite: Bool = false
    ) {
        self.uuid = uuid
        id = uuid
        self.properties = properties
        self.userDescription = userDescription
        self.constant = constant
        self.acceptsAnyWrite = acceptsAnyWrite
    }
}

package struct CentralID: Hashable, Sendable, CustomStringConvertible {
    package let text: String
    package init(_ text: String) { self.text = text }
    package var description: String { text }
}

package enum PeripheralEvent: Hashable, Sendable {
    case connected(CentralID)
    case disconnected(CentralID)
    case mtuChanged(CentralID, Int)
    /// A read that needs `respond(token, …)`. The link serves later Read Blob requests from that response. `offset` is
    /// 0 unless the central starts in the middle.
    case read(CentralID, BluetoothUUID, offset: Int, token: UInt64)
    /// A whole write; the parts of a long one are joined. A write with a token needs `respond(token, …)` with an empty
    /// value.
    case write(CentralID, BluetoothUUID, value: [UInt8], token: UInt64?)
    case subscribed(CentralID, BluetoothUUID)
    case unsubscribed(CentralID, BluetoothUUID)
    /// The value of `notify` was sent. There is one event for each value, in order.
    case notified(BluetoothUUID)
    /// The adapter, bus or socket is unavailable. The link retries and sends `available` when it is published again.
    case unavailable(LinkError)
    case available
}

package enum PeripheralRequest: Hashable, Sendable {
    case respond(token: UInt64, Response)
    /// Sends a value to every subscriber, truncated to MTU - 3 bytes.
    case notify(BluetoothUUID, value: [UInt8])
    case disconnect(CentralID)
    /// Starts or stops advertising. A bottle does not advertise while a central is connected.
    case advertise(Bool)

    /// The response to a read or write: a value, or an ATT error code (Core 5.4, Vol 3 Part F, table 3.4).
    package enum Response: Hashable, Sendable {
        case value([UInt8])
        case error(UInt8)
    }
}
