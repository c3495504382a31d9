import FleetStore
import FleetWire
import TrackerCore

/// What a person's page shows: the newest days, drinks and doubts.
struct FleetPerson: Sendable {
    var name: String
    var days: [(day: LocalDay, ml: Int, drinks: Int)]
    var drinks: [FleetStore.CountedDrink]
    var doubts: [FleetDoubt]
    /// What was told last is not in the days yet.
    var isBehind: Bool

    /// - Returns: `nil` where nobody goes by that name.
    init?(_ name: String, _ store: FleetStore) throws {
        guard let added = try store.addedUpDays(of: name) else { return nil }
        self.name = name
        days = added.days.suffix(60).reversed()
        isBehind = added.isBehind
        (drinks, doubts) = (try store.drinks(of: name, limit: 100), try store.doubts(of: name))
    }
}
