import Bluetooth
import CommandSupport
import Gateway
import Store
import TrackerService

/// The bottles of a store, for the commands that only look.
enum OwnBottles {
    /// Empty where there is no store that can be read. Makes and changes nothing.
    static func look(_ place: StorePlace) -> [OwnBottle] {
        guard let store = try? place.open(hostZone: nil, for: .looking) else { return [] }
        return (try? TrackerDesk.ownBottles(of: store)) ?? []
    }

    /// A machine with several services, and a store without a bottle.
    static let missing = CommandFailure(
        .refused,
        "No bottle is polled: this store has none yet, and a bottle in range could belong to another service.",
        advice:
            """
            Name it in the service's configuration, bottle = "ADDRESS", or: waterh-gateway adopt ADDRESS. See the \
            bottles in range with: waterh-gateway scan
            """
    )
}

extension PollOptions {
    /// Says which bottle a command is for: the one that is named, else those that the file lists.
    mutating func mean(_ wanted: String?, _ file: Configuration) {
        guard wanted == nil, file.bottles.count > 1 else {
            bottle = OwnBottle.meant(wanted ?? file.bottles.first, among: own)
            return
        }
        // Whichever of them is there.
        own = file.bottles.compactMap { text in
            let meant = OwnBottle.meant(text, among: own) ?? text
            let known = own.first { $0.identities.contains(meant) || $0.advertisedName == meant }
            return known ?? BluetoothAddress(meant).map { OwnBottle(identities: [$0.description]) }
        }
    }
}
