import Bluetooth

/// A connection to a peer through a proxy, from the request to its end.
struct ProxySession {
    enum Phase {
        case connecting(deadline: MonotonicInstant)
        case connected
        /// The proxy was asked to disconnect. The error is reported when the connection has ended.
        case ending(deadline: MonotonicInstant, LinkError?)
    }

    enum Operation: Hashable {
        case discover
        case read(UInt16)
        case write(UInt16)
        /// Makes the proxy forward notifications of the value at this handle.
        case forward(UInt16)
        /// Enables notifications at the peer, by writing the Client Characteristic Configuration descriptor.
        case writeCCCD(UInt16, cccd: UInt16)

        var handle: UInt16? {
            switch self {
            case .discover: nil
            case .read(let handle), .write(let handle), .forward(let handle), .writeCCCD(_, let handle): handle
            }
        }

    }

    let peer: PeerID
    let address: BluetoothAddress
    var phase: Phase
    /// The peer's services, which a proxy sends once per connection.
    var services: [ProxyService] = []
    var isDiscovered = false
    var waiting: [CentralRequest] = []
    var current: (operation: Operation, request: CentralRequest, deadline: MonotonicInstant)?

    /// The properties and descriptor of the characteristic with this value handle.
    func characteristic(_ handle: UInt16) -> (properties: CharacteristicProperties, cccdHandle: UInt16?)? {
        for found in services {
            guard let one = found.service.characteristics.first(where: { $0.handle == handle }) else { continue }
            return (one.properties, found.cccdHandles[handle])
        }
        return nil
    }

    var nextDeadline: MonotonicInstant? {
        switch phase {
        case .connecting(let deadline), .ending(let deadline, _): deadline
        case .connected: current?.deadline
        }
    }
}
