import CommandStore
import Gateway
import Store
import TrackerDesk

/// The bottles of a store, for the commands that only look.
enum OwnBottles {
    /// Empty where there is no store that can be read. Makes and changes nothing.
    static func look(_ place: StorePlace) -> [OwnBottle] {
        guard let store = try? place.open(hostZone: nil, for: .looking) else { return [] }
        return (try? TrackerDesk.ownBottles(of: store)) ?? []
    }
}
