import GRDB
import TrackerCore

/// A drink and the row it is stored in.
@dynamicMemberLookup
package struct StoredDrink: Hashable, Sendable {
    /// The row's number, for people to point at; never used again.
    package var number: Int64
    /// The drink itself.
    package var drink: Drink

    /// What the drink says.
    package subscript<Value>(dynamicMember path: KeyPath<Drink, Value>) -> Value { drink[keyPath: path] }

    /// What a statement selects first whose rows are read as drinks: they are read by their places, since a day has
    /// many and a history all of them.
    static let columns =
        """
        drink.id, drink.key, drink.instant, drink.zone, drink.localDay, drink.ml, drink.source, drink.deleted, \
        drink.updatedAt, drink.instead
        """

    /// - Parameter row: with `columns` first.
    /// - Throws: `UnreadableRow`.
    init(row: Row) throws {
        number = try row.checked("id", at: 0)
        let day: String = try row.checked("localDay", at: 4)
        guard let localDay = LocalDay(day) else { throw row.unreadable("localDay is \"\(day)\", which is no date") }
        drink = Drink(
            key: try row.checked("key", at: 1), at: try row.instant("instant", at: 2),
            zone: try row.checked("zone", at: 3), localDay: localDay,
            ml: try row.checked("ml", at: 5, in: DrinkTable.storableMl),
            source: DrinkSource(rawValue: try row.checked("source", at: 6)),
            isDeleted: try row.checked("deleted", at: 7), updatedAt: try row.instant("updatedAt", at: 8))
    }

    /// The key of the drink that a row's stands instead of.
    /// - Parameter row: with `columns` first.
    static func original(_ row: Row) throws -> String? { try row.checked("instead", at: 9) }
}
