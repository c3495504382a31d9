/// The central role of a link: requests in, events out, in order.
///
/// The D-Bus API of BlueZ has no ATT PDUs, so this interface is at GATT level. A link has one connection at a time.
/// Exactly one of the events in a request's comment answers the request, unless `disconnected` comes first.
package protocol CentralLink: AnyObject, Sendable {
    /// The link's name in messages: `unix:/tmp/b.sock`, `bluez:hci0`.
    var name: String { get }
    /// Whether a scan uses the radio. If not, `startScan` reports the one peer of the link.
    var hasRadio: Bool { get }
    /// The events, for one consumer. The stream ends when the link is closed.
    var events: AsyncStream<CentralEvent> { get }
    /// Sends a request without blocking. The result is an event.
    func perform(_ request: CentralRequest)
    /// Disconnects, releases all resources and ends `events`.
    func close() async
}

/// The link's opaque name of a peer: an address on the radio, a path on a socket.
package struct PeerID: Hashable, Sendable, CustomStringConvertible {
    package let text: String
    package init(_ text: String) { self.text = text }
    package var description: String { text }
}

/// A scan result.
package struct Advertisement: Hashable, Sendable {
    package var peer: PeerID
    /// The device address, or `nil` on links without a radio. There the Serial Number String (2A25) is the identity.
    package var address: BluetoothAddress?
    /// Whether the address is a private address, which changes every few minutes (Core 5.4, Vol 6 Part B, 1.3.2.2).
    package var isAddressPrivate = false
    /// The complete or shortened local name.
    package var name: String?
    package var services: [BluetoothUUID]
    /// The signal strength in dBm, if known.
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

/// The characteristic properties bit field (Core 5.4, Vol 3 Part G, 3.3.1.1).
package struct CharacteristicProperties: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let broadcast = Self(rawValue: 0x01)
    package static let read = Self(rawValue: 0x02)
    package static let writeWithoutResponse = Self(rawValue: 0x04)
    package static let write = Self(rawValue: 0x08)
    package static let notify = Self(rawValue: 0x10)
    package static let indicate = Self(rawValue: 0x20)
    package static let signedWrite = Self(rawValue: 0x40)
    /// The Characteristic Extended Properties descriptor has further properties.
    package static let extended = Self(rawValue: 0x80)
}

package struct RemoteService: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var handle: UInt16
    package var characteristics: [RemoteCharacteristic]

    package init(uuid: BluetoothUUID, handle: UInt16, characteristics: [RemoteCharacteristic]) {
        self.uuid = uuid
        self.handle = handle
        self.characteristics = characteristics
    }
}

/// A characteristic found by discovery. Requests and events name it by `handle`.
package struct RemoteCharacteristic: Hashable, Sendable {
    package var uuid: BluetoothUUID
    /// The handle of the characteristic value.
    package var handle: UInt16
    package var properties: CharacteristicProperties

    package init(uuid: BluetoothUUID, handle: UInt16, properties: CharacteristicProperties) {
        self.uuid = uuid
        self.handle = handle
        self.properties = properties
    }
}

package enum CentralRequest: Hashable, Sendable {
    /// -> `advertised`* until `stopScan`, or `scanFailed`. A peer is reported again when its data changes.
    case startScan
    /// Stops the scan. No event answers this request.
    case stopScan
    /// -> `connected` or `connectFailed`. `limit` is the time limit.
    case connect(PeerID, limit: Duration)
    /// -> `discovered` or `discoveryFailed`. Discovers all primary services and their characteristics.
    case discover
    /// -> `read` or `readFailed`. Reads the whole value, with Read Blob if it is long.
    case read(handle: UInt16)
    /// -> `wrote` or `writeFailed`. Without response, `wrote` means that the PDU was sent.
    case write(handle: UInt16, value: [UInt8], withResponse: Bool)
    /// -> `subscribed` or `subscribeFailed`. Writes the CCCD for notifications, else for indications.
    case subscribe(handle: UInt16)
    /// -> `disconnected(nil)`, even if there was no connection.
    case disconnect
    /// -> `recovered`. Removes the peer from the system's cache (BlueZ: RemoveDevice). A step of the recovery.
    case clearCache(PeerID)
    /// -> `recovered`. Switches the adapter off and on. This disturbs other programs, so the user must permit it.
    case powerCycle

    /// The event that answers this request with an error.
    package func failed(_ error: LinkError) -> CentralEvent {
        switch self {
        case .startScan, .stopScan: .scanFailed(error)
        case .connect: .connectFailed(error)
        case .discover: .discoveryFailed(error)
        case .read(let handle): .readFailed(handle: handle, error)
        case .write(let handle, _, _): .writeFailed(handle: handle, error)
        case .subscribe(let handle): .subscribeFailed(handle: handle, error)
        case .disconnect: .disconnected(nil)
        case .clearCache, .powerCycle: .recovered(error.sentence)
        }
    }
}

package enum CentralEvent: Hashable, Sendable {
    case advertised(Advertisement)
    case scanFailed(LinkError)
    /// `mtu` is the current ATT MTU: 23 until `mtuChanged`.
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
    /// A notification or indication of the characteristic value at `handle`.
    case notification(handle: UInt16, value: [UInt8])
    /// The connection has ended; `nil` if this side closed it.
    case disconnected(LinkError?)
    /// A recovery step has ended, with this result.
    case recovered(String)
    /// An unusual event that the user should see. It answers no request.
    case warning(String)
    /// The adapter, bus or socket is unavailable. The link sends another event when it is back.
    case unavailable(LinkError)
    case available
}
