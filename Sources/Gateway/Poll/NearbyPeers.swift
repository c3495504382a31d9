import Bluetooth
import BottleProtocol

/// The other peers found by the scan, for the message that the bottle was not found.
struct NearbyPeers: Sendable {
    /// Bottles in range that the poll must not use.
    var others: [PeerID: Advertisement] = [:]
    /// Peers that a connection has shown not to be the requested bottle.
    var rejected: Set<PeerID> = []
    /// A warning of the link about the scan, for the same message.
    var scanWarning: String?
    private var names: [PeerID: String?] = [:]

    /// The maximum number of stored peers, which limits the memory used by random addresses.
    private static let limit = 1000

    mutating func add(_ advertisement: Advertisement) {
        guard names[advertisement.peer] != nil || names.count < Self.limit else { return }
        let name = advertisement.name.flatMap { BottleIdentity.name(Array($0.utf8)) }.map { String($0.prefix(32)) }
        let isBottle = BottleSelector.looksLikeBottle(advertisement)
        names[advertisement.peer] = .some(
            isBottle ? "\(name ?? "a bottle without a name") (\(advertisement.peer))" : name)
    }

    /// A list of the peers: bottles first, by name. Peers without a name are counted.
    func summary(limit: Int) -> String {
        guard !names.isEmpty else { return "no other device was found" }
        let named = Set(names.values.compactMap { $0 }).sorted { left, right in
            let (isLeft, isRight) = (Self.isBottle(left), Self.isBottle(right))
            return isLeft != isRight ? isLeft : left < right
        }
        let shown = named.prefix(limit)
        let others = names.count - shown.count
        let rest = others > 0 ? [shown.isEmpty ? "\(others) without a name" : "\(others) more"] : []
        return "devices found: " + (shown + rest).joined(separator: ", ")
    }

    private static func isBottle(_ text: String) -> Bool { BottleName.isBottle(text) || text.hasPrefix("a bottle") }
}
