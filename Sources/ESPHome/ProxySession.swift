import Bluetooth

/// A connection to a peer through a proxy, from the request to its end.
struct ProxySession {
    enum Phase {
        case connecting(deadline: MonotonicInstant)
        case connected
        /// The proxy was told to hang up; what is said when it has.
        case ending(deadline: MonotonicInstant, LinkError?)
    }

    /// What the proxy owes an answer to.
    enum Operation: Hashable {
        case discover
        case read(UInt16)
        case write(UInt16)
        /// The proxy is to hand on what comes from this value.
        case listen(UInt16)
        /// The peer is to send it: its descriptor is written.
        case configure(UInt16, descriptor: UInt16)

        /// The handle that the proxy's answer names.
        var handle: UInt16? {
            switch self {
            case .discover: nil
            case .read(let handle), .write(let handle), .listen(let handle), .configure(_, let handle): handle
            }
        }

        /// How it says that it failed.
        func failure(_ error: LinkError) -> CentralEvent {
            switch self {
            case .discover: .discoveryFailed(error)
            case .read(let handle): .readFailed(handle: handle, error)
            case .write(let handle): .writeFailed(handle: handle, error)
            case .listen(let handle), .configure(let handle, _): .subscribeFailed(handle: handle, error)
            }
        }
    }

    let peer: PeerID
    let address: BluetoothAddress
    var phase: Phase
    /// A proxy tells services once for each connection.
    var services: [ProxyService] = []
    var isDiscovered = false
    var waiting: [CentralRequest] = []
    var current: (operation: Operation, deadline: MonotonicInstant)?

    /// Properties and descriptor of the characteristic whose value is there.
    func characteristic(_ handle: UInt16) -> (properties: CharacteristicProperties, configuration: UInt16?)? {
        for found in services {
            guard let one = found.service.characteristics.first(where: { $0.handle == handle }) else { continue }
            return (one.properties, found.configurations[handle])
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
