import Bluetooth
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

    /// The bottles of the other people whom the configuration lists.
    static func foreign(to person: PersonEntry?, _ file: Configuration, own: [OwnBottle]) -> [ForeignBottle] {
        guard let person else { return [] }
        let shares = file.people.map { one in one.name == person.name ? share(one, file, own: own) : share(one, file) }
        return HouseholdBottles(shares).foreign(to: person.name)
    }

    /// One person's part of the household, as the list and the store tell it.
    static func share(_ person: PersonEntry, _ file: Configuration, own: [OwnBottle]? = nil) -> HouseholdBottles.Share {
        let link = file.link(of: person)
        return HouseholdBottles.Share(
            person: person.name, link: (try? LinkName(link)).map { "\($0)" } ?? link, listed: person.bottles,
            own: own ?? look(StorePlace(path: person.store, origin: .configuration)))
    }
}

extension PollOptions {
    /// Says which bottle a command is for: the one that is named, else those that are listed at the person, and nobody
    /// else's.
    mutating func mean(_ wanted: String?, _ place: StorePlace, _ file: Configuration) {
        foreign = OwnBottles.foreign(to: place.person, file, own: own)
        let listed = place.person?.bottles ?? []
        guard wanted == nil, listed.count > 1 else {
            bottle = OwnBottle.meant(wanted ?? listed.first, among: own)
            return
        }
        // Whichever of them is there.
        own = listed.compactMap { text in
            let meant = OwnBottle.meant(text, among: own) ?? text
            let known = own.first { $0.identities.contains(meant) || $0.advertisedName == meant }
            return known ?? BluetoothAddress(meant).map { OwnBottle(identities: [$0.description]) }
        }
    }
}
