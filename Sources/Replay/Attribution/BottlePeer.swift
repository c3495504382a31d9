import Bluetooth
import BottleProtocol

/// Who stands behind one side of a connection, across all connections with the same address.
///
/// Holds what outlives a connection: name, model, the attribute table last discovered, and which drinks were seen.
public final class BottlePeer {
    /// `nil` where the capture does not show it.
    public internal(set) var address: BluetoothAddress?
    /// Number of the first connection with it, to tell peers without an address apart.
    public let firstConnection: Int
    /// As advertised, or read from 2A00.
    public internal(set) var name: String?
    /// As the snapshot said, else as the name suggests.
    public internal(set) var model: BottleModel?
    public internal(set) var profile: BottleProfile?
    /// How the response characteristic was found; `nil`: this is no bottle, as far as is known.
    public internal(set) var basis: AttributionBasis?
    /// Where its frames come from.
    public internal(set) var responseHandle: UInt16?
    /// The attribute table, as last discovered.
    public internal(set) var table = AttributeTable()
    /// Battery in percent, from the last snapshot or report.
    public internal(set) var batteryPercent: Int?
    /// Frames came from it.
    public internal(set) var hasSpoken = false
    /// How many commands were written to it.
    public internal(set) var commandCount = 0
    /// What it delivered; filled by `DrinkReader`.
    var history: DrinkHistory?
    /// The capturing host itself.
    public let isHost: Bool
    /// Connections with it that are open now.
    var openConnections = 0

    init(address: BluetoothAddress?, firstConnection: Int, isHost: Bool) {
        self.address = address
        self.isHost = isHost
        self.firstConnection = firstConnection
    }

    /// For people: the address, or else the name, or else which connection it was. Nothing in it moves a terminal's cursor.
    public var label: String {
        if let address { return address.description }
        if isHost { return "the capturing host" }
        return "\(name.map { $0.withoutControls } ?? "connection \(firstConnection)") (no address)"
    }

    /// Whether this is a bottle, as far as is known: it speaks like one, or is named like one. Other gadgets use the same UUIDs.
    public var isBottle: Bool { hasSpoken || name?.lowercased().hasPrefix("waterh") == true }

    func note(_ profile: BottleProfile?, _ basis: AttributionBasis) {
        if let profile { self.profile = profile }
        self.basis = basis
    }

    func learn(from message: Frame) {
        guard let meaning = try? BottleMessage(decoding: message) else { return }
        switch meaning {
        case .snapshot(let snapshot):
            if let told = snapshot.model { model = told }
            batteryPercent = snapshot.batteryPercent
        case .report(let entries):
            for entry in entries where entry.type == .battery { batteryPercent = entry.byte.map(Int.init) }
        default: break
        }
    }

    func learn(name: String) {
        guard !name.isEmpty, self.name != name else { return }
        self.name = name
        if model == nil { model = BottleModel(advertisedName: name) }
    }
}

extension String {
    /// Names come from the air: nothing in them may end a line or colour a terminal.
    public var withoutControls: String {
        String(String.UnicodeScalarView(unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F && !(0x80...0x9F).contains($0.value) }))
    }
}

/// How it is known which characteristic carries a bottle's responses.
public enum AttributionBasis: String, Sendable, CaseIterable {
    /// Discovery on the same connection (or the characteristic's name, in text captures).
    case discovered
    /// Discovery on an earlier connection to the same address.
    case carriedOver = "carried over"
    /// Handles given by the caller.
    case given
    /// The shape of the frames; no discovery is in the capture.
    case guessed
}

extension BottleModel {
    /// What a name as advertised says about the model: `WaterH-Boost-24oz` and `WaterH-Bottle-B003` are Boosts, `WaterH-Bottle-1` a Vita
    /// (protocol section 1). `nil`: nothing.
    init?(advertisedName name: String) {
        let name = name.lowercased()
        guard name.hasPrefix("waterh") else { return nil }
        if name.contains("boost") || name.contains("-b0") {
            self = .boost
        } else if name.contains("vita") || name == "waterh-bottle-1" {
            self = .vita
        } else {
            return nil
        }
    }
}

/// Everybody met in a capture, by address.
struct PeerBook {
    private var peers: [Key: BottlePeer] = [:]
    /// Names from advertisements, for peers that are not connected yet. Bounded: a busy place has thousands.
    private var names: [BluetoothAddress: String] = [:]
    private static let mostNames = 4096
    private static let mostPeers = 4096
    /// Name of peers without an address, where a text capture has one for all.
    var nameOfUnknown: String?
    /// In order of first connection.
    private(set) var all: [BottlePeer] = []

    enum Key: Hashable {
        case address(BluetoothAddress)
        /// The capturing host itself, behind this adapter.
        case host(UInt32)
        /// The peer of one connection, whose address the capture does not hold.
        case connection(Int)
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
        peers[key] = peer
        all.append(peer)
        return peer
    }

    /// The peer that has told its own address, on a link that shows none: perhaps somebody known.
    mutating func identify(_ peer: BottlePeer, as address: BluetoothAddress) -> BottlePeer {
        if let known = peers[.address(address)] { return known }
        peer.address = address
        peers[.address(address)] = peer
        return peer
    }

    /// The last connection with this peer has ended: whoever told nothing of themselves is forgotten, so that a capture of very many
    /// connections needs no more memory than one. Of others who are no bottle some thousands are kept.
    mutating func leave(_ peer: BottlePeer) {
        peer.openConnections -= 1
        guard peer.openConnections <= 0, !peer.isHost, !peer.isBottle, peer.basis == nil, peer.commandCount == 0, peer.history == nil,
            peer.name == nil && peer.table.isEmpty || all.count > Self.mostPeers
        else { return }
        peers[peer.address.map { .address($0) } ?? .connection(peer.firstConnection)] = nil
        if let place = all.lastIndex(where: { $0 === peer }) { all.remove(at: place) }
    }

    mutating func learn(name: String, of address: BluetoothAddress) {
        guard !name.isEmpty else { return }
        if let peer = peers[.address(address)] { peer.learn(name: name) }
        if names[address] != nil || names.count < Self.mostNames { names[address] = name }
    }
}
