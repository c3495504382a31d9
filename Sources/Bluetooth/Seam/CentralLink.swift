/// The central's side of the seam that radio and memory share: requests go in, events come out, in order.
///
/// BlueZ hides ATT behind D-Bus, so the seam is at GATT level. A machine that decides (the gateway's engine)
/// emits `CentralRequest`s and is fed `CentralEvent`s; it never waits. A link holds one connection at a time.
/// Every request is answered by exactly one of the events its comment names, unless `disconnected` comes first.
package protocol CentralLink: AnyObject, Sendable {
    /// For people: `unix:/tmp/b.sock`, `bluez:hci0`.
    var name: String { get }
    /// Whether a scan finds peers by radio. Without, `startScan` reports the one peer at the other end.
    var hasRadio: Bool { get }
    /// What happens, in order of happening. One consumer. Ends when the link is closed for good.
    var events: AsyncStream<CentralEvent> { get }
    /// Hands a request over; never blocks. The outcome comes as an event.
    func perform(_ request: CentralRequest)
    /// Disconnects, gives back every resource and ends `events`.
    func close() async
}

/// A peer as a link names it: an address over the radio, a path on a socket. Opaque to everyone else.
package struct PeerID: Hashable, Sendable, CustomStringConvertible {
    /// The name as the link writes it.
    package let text: String
    /// The peer of that name.
    package init(_ text: String) { self.text = text }
    /// The name.
    package var description: String { text }
}

/// Somebody seen by a scan.
package struct Advertisement: Hashable, Sendable {
    /// Who was seen, to connect to.
    package var peer: PeerID
    /// `nil` on links without a radio: there the bottle's identity is read from the Serial Number String (2A25).
    package var address: BluetoothAddress?
    /// The address is a private one: it changes every few minutes, and says nothing of who it is (Core 5.4, Vol 6 Part
    /// B, 1.3.2.2).
    package var isAddressPrivate = false
    /// The advertised name, whole or shortened.
    package var name: String?
    /// Services that the advertisement names.
    package var services: [BluetoothUUID]
    /// dBm, where the link knows it.
    package var rssi: Int?

    package init(
        peer: PeerID, address: BluetoothAddress? = nil, name: String? = nil, services: [BluetoothUUID] = [],
        rssi: Int? = nil
    ) {
        self.peer = peer
        self.address = address
        self.name = name
        self.services = services
        self.rssi = rssi
    }
}

/// Characteristic properties: the bit field of the characteristic declaration (Core 5.4, Vol 3 Part G, 3.3.1.1).
package struct CharacteristicProperties: OptionSet, Hashable, Sendable {
    /// The bit field as it stands in the declaration.
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// May be broadcast in advertisements.
    package static let broadcast = Self(rawValue: 0x01)
    /// Can be read.
    package static let read = Self(rawValue: 0x02)
    /// Takes writes that are never confirmed.
    package static let writeWithoutResponse = Self(rawValue: 0x04)
    /// Takes writes that are confirmed.
    package static let write = Self(rawValue: 0x08)
    /// Sends values that are not confirmed.
    package static let notify = Self(rawValue: 0x10)
    /// Sends values that the client confirms.
    package static let indicate = Self(rawValue: 0x20)
    /// Takes signed writes.
    package static let signedWrite = Self(rawValue: 0x40)
    /// A descriptor holds further properties.
    package static let extended = Self(rawValue: 0x80)
}

/// A service found by discovery.
package struct RemoteService: Hashable, Sendable {
    /// What the service is.
    package var uuid: BluetoothUUID
    /// Handle of the declaration.
    package var handle: UInt16
    /// Its characteristics, in order of their handles.
    package var characteristics: [RemoteCharacteristic]

    package init(uuid: BluetoothUUID, handle: UInt16, characteristics: [RemoteCharacteristic]) {
        self.uuid = uuid
        self.handle = handle
        self.characteristics = characteristics
    }
}

/// A characteristic found by discovery. `handle` (of the value) names it in requests and events.
package struct RemoteCharacteristic: Hashable, Sendable {
    /// What the characteristic is.
    package var uuid: BluetoothUUID
    /// Handle of the characteristic's value.
    package var handle: UInt16
    /// What may be done with its value.
    package var properties: CharacteristicProperties

    package init(uuid: BluetoothUUID, handle: UInt16, properties: CharacteristicProperties) {
        self.uuid = uuid
        self.handle = handle
        self.properties = properties
    }
}

/// What a central asks of its link. Behind the arrow stand the events that answer.
package enum CentralRequest: Hashable, Sendable {
    /// -> `advertised`* until `stopScan`, or `scanFailed`. Peers are reported again when what is known of them changes.
    case startScan
    /// Silent.
    case stopScan
    /// -> `connected` or `connectFailed`. The link gives up by itself after `limit`.
    case connect(PeerID, limit: Duration)
    /// -> `discovered` or `discoveryFailed`. All primary services with their characteristics.
    case discover
    /// -> `read` or `readFailed`. The whole value, read on with Read Blob where it is long.
    case read(handle: UInt16)
    /// -> `wrote` or `writeFailed`; without response `wrote` says that it left.
    case write(handle: UInt16, value: [UInt8], withResponse: Bool)
    /// -> `subscribed` or `subscribeFailed`. Writes the CCCD (notification where offered, else indication).
    case subscribe(handle: UInt16)
    /// -> `disconnected(nil)`, also when nothing was connected.
    case disconnect
    /// Forgets what the system remembers of this peer (BlueZ: RemoveDevice); -> `recovered` . A rung of the recovery
    /// ladder.
    case forget(PeerID)
    /// Switches the adapter off and on; disturbs others, so only when the user allowed it; -> `recovered`.
    case powerCycle
}

/// What a link tells a central.
package enum CentralEvent: Hashable, Sendable {
    case advertised(Advertisement)
    case scanFailed(LinkError)
    /// `mtu` is the ATT MTU as far as it is known now: 23 until `mtuChanged`.
    case connected(PeerID, mtu: Int)
    case connectFailed(LinkError)
    case mtuChanged(Int)
    case discovered([RemoteService])
    case discoveryFailed(LinkError)
    case read(handle: UInt16, value: [UInt8])
    case readFailed(handle: UInt16, LinkError)
    case wrote(handle: UInt16)
    case writeFailed(handle: UInt16, LinkError)
    case subscribed(handle: UInt16)
    case subscribeFailed(handle: UInt16, LinkError)
    /// A notification or indication from the characteristic value at `handle`.
    case notification(handle: UInt16, value: [UInt8])
    /// The connection has ended: `nil` because we asked for it.
    case disconnected(LinkError?)
    /// `forget` or `powerCycle` is through; the sentence says what was done or why it could not be.
    case recovered(String)
    /// Something odd about the air or the connection that a person should hear of. Answers no request.
    case remark(String)
    /// The adapter, bus or socket is gone altogether; the link stays usable and says so again when it is back.
    case unavailable(LinkError)
    case available
}
