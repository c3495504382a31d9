import GRDB
import TrackerCore

/// A drink and the row it is stored in.
@dynamicMemberLookup
public struct StoredDrink: Hashable, Sendable {
    /// The row's number, for people to point at; never used again.
    public var number: Int64
    /// The drink itself.
    public var drink: Drink

    /// What the drink says.
    public subscript<Value>(dynamicMember path: KeyPath<Drink, Value>) -> Value { drink[keyPath: path] }

    /// - Throws: `UnreadableRow`.
    init(row: Row) throws {
        number = try row.checked("id")
        let day: String = try row.checked("localDay")
        guard let localDay = LocalDay(day) else { throw row.unreadable("localDay is \"\(day)\", which is no date") }
        drink = Drink(
            key: try row.checked("key"), at: try row.instant("instant"), zone: try row.checked("zone"), localDay: localDay,
            ml: try row.checked("ml", in: DrinkTable.storableMl), source: DrinkSource(rawValue: try row.checked("source")),
            isDeleted: try row.checked("deleted"), updatedAt: try row.instant("updatedAt"))
    }
}
