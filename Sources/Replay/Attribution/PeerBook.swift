import Bluetooth

/// Everybody met in a capture, by address.
struct PeerBook {
    private var peers: [Key: BottlePeer] = [:]
    /// Names from advertisements, for peers that are not connected yet. Bounded: a busy place has thousands.
    private var names: [BluetoothAddress: String] = [:]
    private static let mostNames = 4096
    private static let mostPeers = 4096
    /// Name of peers without an address, where a text capture has one for all.
    var nameOfUnknown: String?

    enum Key: Hashable {
        case address(BluetoothAddress)
        /// The capturing host itself, behind this adapter.
        case host(UInt32)
        /// The peer of one connection, whose address the capture does not hold.
        case connection(Int)
    }

    /// In order of first connection.
    var all: [BottlePeer] {
        // Who told its address is known under two keys.
        peers.filter { key, peer in peer.keys.first == key }.values.sorted {
            ($0.firstConnection, $0.isHost ? 1 : 0) < ($1.firstConnection, $1.isHost ? 1 : 0)
        }
    }

    mutating func peer(_ key: Key, connection: Int) -> BottlePeer {
        if let known = peers[key] { return known }
        var address: BluetoothAddress?
        var isHost = false
        switch key {
        case .address(let known): address = known
        case .host: isHost = true
        case .connection: break
        }
        let peer = BottlePeer(address: address, firstConnection: connection, isHost: isHost)
        if let address, let name = names[address] { peer.learn(name: name) }
        if case .connection = key, let nameOfUnknown { peer.learn(name: nameOfUnknown) }
        add(peer, key)
        return peer
    }

    private mutating func add(_ peer: BottlePeer, _ key: Key) {
        peers[key] = peer
        peer.keys.append(key)
    }

    /// The peer that has told its own address, on a link that shows none: perhaps somebody known.
    mutating func identify(_ peer: BottlePeer, as address: BluetoothAddress) -> BottlePeer {
        if let known = peers[.address(address)] { return known }
        peer.address = address
        add(peer, .address(address))
        return peer
    }

    /// The last connection with this peer has ended: whoever told nothing of themselves is forgotten, so that a capture
    /// of very many connections needs no more memory than one. Of others some thousands are kept; what they drank is
    /// remembered elsewhere.
    mutating func leave(_ peer: BottlePeer) {
        peer.openConnections -= 1
        guard peer.openConnections <= 0, !peer.isHost else { return }
        let isNobody = !peer.isBottle && peer.basis == nil && peer.commandCount == 0 && peer.account == nil
        guard peers.count > Self.mostPeers || (isNobody && peer.name == nil && peer.table.isEmpty) else { return }
        for key in peer.keys { peers[key] = nil }
        peer.keys = []
    }

    mutating func learn(name: String, of address: BluetoothAddress) {
        guard !name.isEmpty else { return }
        if let peer = peers[.address(address)] { peer.learn(name: name) }
        if names[address] != nil || names.count < Self.mostNames { names[address] = name }
    }
}
