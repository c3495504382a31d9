package import Bluetooth
package import BottleProtocol

/// An endpoint of connections: a device, or the capturing host. Connections with one address share one object.
package final class BottlePeer {
    package internal(set) var address: BluetoothAddress?
    package let firstConnection: Int
    /// The advertised name, or else the value of 2A00.
    package internal(set) var name: String?
    /// The model by the bottle's snapshot, or else by its name.
    package internal(set) var model: BottleModel?
    /// The profile by the GATT table or the traffic; `nil` if unknown.
    package internal(set) var profile: BottleProfile?
    /// The evidence for the response characteristic; `nil` without evidence for a bottle.
    package internal(set) var basis: AttributionBasis?
    package internal(set) var responseHandle: UInt16?
    package internal(set) var table = AttributeTable()
    /// The battery level in percent, from the last snapshot or report.
    package internal(set) var batteryPercent: Int?
    package internal(set) var hasResponded = false
    package internal(set) var commandCount = 0
    /// The number of deliveries of known drinks.
    package internal(set) var duplicateCount = 0
    /// Whether the address is a private one, which the device changes regularly.
    var isAddressPrivate = false
    var keys: [PeerStore.Key] = []
    package let isHost: Bool
    var openConnections = 0

    init(address: BluetoothAddress?, firstConnection: Int, isHost: Bool) {
        self.address = address
        self.isHost = isHost
        self.firstConnection = firstConnection
    }

    /// The text that identifies the peer in messages: the address, the name or the connection number.
    package var label: String {
        if let address { return address.description }
        if isHost { return "the capturing host" }
        return "\(name.map { $0.withoutControls } ?? "connection \(firstConnection)") (no address)"
    }

    /// Whether the name or received frames show a bottle. UUIDs do not, because other devices use the same.
    package var isBottle: Bool { hasResponded || name.map(BottleName.isBottle) == true }

    func setProfile(_ profile: BottleProfile?, _ basis: AttributionBasis) {
        if let profile { self.profile = profile }
        self.basis = basis
    }

    func update(from message: Frame) {
        guard let decoded = try? BottleMessage(decoding: message) else { return }
        switch decoded {
        case .snapshot(let snapshot):
            model = snapshot.model ?? model
            batteryPercent = snapshot.batteryPercent
        case .report(let entries):
            for entry in entries where entry.type == .battery { batteryPercent = entry.byte.map(Int.init) }
        default: break
        }
    }

    func update(name: String) {
        guard !name.isEmpty, self.name != name else { return }
        self.name = name
        if model == nil { model = BottleModel(advertisedName: name) }
    }
}

extension String {
    /// The text without control characters, line separators and directional characters, for received names.
    package var withoutControls: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.filter { scalar in
                    ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
                        && !scalar.properties.isBidiControl
                }))
    }
}

/// The evidence for the response characteristic of a bottle.
package enum AttributionBasis: String, Sendable, CaseIterable, Encodable {
    /// Discovery on the same connection; in text captures, the UUID of the characteristic.
    case discovered
    /// Discovery on an earlier connection to the same address.
    case carriedOver = "carried over"
    /// The user named the handles.
    case option = "given"
    /// The format of the values; the capture has no discovery.
    case guessed
}

/// Stores the peers of a capture by address, adapter or connection.
struct PeerStore {
    private var peers: [Key: BottlePeer] = [:]
    /// The advertised names, up to `maximumNames`, because thousands of devices can be in range.
    private var names: [BluetoothAddress: String] = [:]
    private static let maximumNames = 4096
    private static let maximumPeers = 4096
    /// The name in the header of a text capture without addresses, for all its peers.
    var unaddressedName: String?

    enum Key: Hashable {
        case address(BluetoothAddress)
        case host(UInt32)
        /// The peer of one connection, whose address is not in the capture.
        case connection(Int)
    }

    /// The peers in order of first connection.
    var all: [BottlePeer] {
        // A peer whose address became known has two keys. List it under the first one only.
        peers.filter { key, peer in peer.keys.first == key }.values.sorted {
            ($0.firstConnection, $0.isHost ? 1 : 0) < ($1.firstConnection, $1.isHost ? 1 : 0)
        }
    }

    mutating func peer(_ key: Key, connection: Int) -> BottlePeer {
        if let known = peers[key] { return known }
        var address: BluetoothAddress?, isHost = false
        switch key {
        case .address(let known): address = known
        case .host: isHost = true
        case .connection: break
        }
        let peer = BottlePeer(address: address, firstConnection: connection, isHost: isHost)
        if let address, let name = names[address] { peer.update(name: name) }
        if case .connection = key, let unaddressedName { peer.update(name: unaddressedName) }
        add(peer, key)
        return peer
    }

    private mutating func add(_ peer: BottlePeer, _ key: Key) {
        peers[key] = peer
        peer.keys.append(key)
    }

    /// Returns the known peer with this address, or else sets the address of `peer`. For links without addresses, on
    /// which a bottle reports its own address.
    mutating func identify(_ peer: BottlePeer, as address: BluetoothAddress) -> BottlePeer {
        if let known = peers[.address(address)] { return known }
        peer.address = address
        add(peer, .address(address))
        return peer
    }

    /// Ends a connection of a peer. Drops the peer after its last connection if nothing is known about it, to limit
    /// memory use.
    mutating func endConnection(of peer: BottlePeer) {
        peer.openConnections -= 1
        guard peer.openConnections <= 0, !peer.isHost else { return }
        let isUnknown = !peer.isBottle && peer.basis == nil && peer.commandCount == 0
        guard peers.count > Self.maximumPeers || (isUnknown && peer.name == nil && peer.table.isEmpty) else { return }
        for key in peer.keys { peers[key] = nil }
        peer.keys = []
    }

    mutating func update(name: String, of address: BluetoothAddress) {
        guard !name.isEmpty else { return }
        if let peer = peers[.address(address)] { peer.update(name: name) }
        if names[address] != nil || names.count < Self.maximumNames { names[address] = name }
    }
}

extension RawSpan {
    /// The local name in advertising data or a scan response: the complete name (09), else the shortened one (08).
    /// The bytes are `length(1) type(1) data(length − 1)`* (Core 5.4, Vol 3 Part C, 11). They are not copied, because
    /// captures can have millions of advertisements.
    var advertisedName: String? {
        var shortened: String?
        var at = 0
        while at < byteCount, byte(at) > 0, at + Int(byte(at)) < byteCount {
            let (type, end) = (byte(at + 1), at + 1 + Int(byte(at)))
            if type == 0x08 || type == 0x09 {
                let name = String(decoding: extracting((at + 2)..<end).bytes(), as: UTF8.self)
                if type == 0x09 { return name }
                shortened = name
            }
            at = end
        }
        return shortened
    }
}
