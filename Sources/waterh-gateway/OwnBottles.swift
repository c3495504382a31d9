import Bluetooth
import CommandStore
import Gateway
import Store
import TrackerDesk

/// Whose a bottle is, for the commands that only look.
enum OwnBottles {
    /// The bottles of a store, where there is one that can be read. Makes and changes nothing.
    static func look(_ place: StorePlace) -> [OwnBottle] {
        guard let store = try? place.open(hostZone: nil, for: .looking) else { return [] }
        return (try? TrackerDesk.ownBottles(of: store)) ?? []
    }

    /// `nil` where that cannot be told: an address that changes, or a link whose bottle shows none.
    static func isOwn(_ found: Advertisement, _ own: [OwnBottle]) -> Bool? {
        guard let address = found.address?.description, !found.isAddressPrivate else { return nil }
        return own.contains { $0.identities.contains(address) }
    }

    static func words(_ found: Advertisement, _ own: [OwnBottle]) -> String {
        if found.isAddressPrivate { return "bottle (its address changes: it is known by its serial number or name)" }
        guard let isOwn = isOwn(found, own), !own.isEmpty else { return "bottle" }
        return isOwn ? "bottle, this store's own" : "bottle, not this store's: waterh-gateway adopt \(found.address?.description ?? found.peer.text)"
    }
}
