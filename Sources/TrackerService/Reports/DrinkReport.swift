import Store
import TrackerCore

// The JSON that scripts and pages rely on (command law C5): keys in lowerCamelCase, instants as ISO 8601 in UTC, `null`
// written out.

/// A drink of the day.
package struct DrinkReport: Hashable, Sendable, Encodable {
    /// The drink with its row.
    package let drink: StoredDrink
    /// As whoever it is for may see it.
    private let shown: Drink

    /// - Parameter seesWaterline: whether sessions are any business of whom it is for; where not, their water is a
    ///   water like another.
    package init(_ drink: StoredDrink, seesWaterline: Bool = true) {
        self.drink = drink
        shown = seesWaterline ? drink.drink : drink.drink.veiled
    }

    enum CodingKeys: String, CodingKey { case number, key, at, zone, day, ml, source }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(drink.number, forKey: .number)
        try keys.encode(shown.key, forKey: .key)
        try keys.encode(drink.at.description, forKey: .at)
        try keys.encode(drink.zone, forKey: .zone)
        try keys.encode(drink.localDay.description, forKey: .day)
        try keys.encode(drink.ml, forKey: .ml)
        try keys.encode(shown.source.rawValue, forKey: .source)
    }
}

/// What a change of one drink answers: the drink, and how the day stands now.
package struct DrinkOutcome: Hashable, Sendable, Encodable {
    /// The drink as it is now.
    package let drink: DrinkReport
    /// How the day stands now.
    package let state: TrackerSnapshot

    /// As it is stored, or was.
    package var stored: StoredDrink { drink.drink }
}

/// What taking back answers.
package struct UndoOutcome: Hashable, Sendable, Encodable {
    /// What was taken back, in words.
    package let undone: String
    /// How the day stands now.
    package let state: TrackerSnapshot
}

/// What emptying the day answers.
package struct ResetOutcome: Hashable, Sendable, Encodable {
    /// The drinks that were taken out.
    package let deleted: [DrinkReport]
    /// How the day stands now.
    package let state: TrackerSnapshot
}

/// What a change of a named entry answers: it was a drink of the day, or one of a session.
package enum EntryOutcome: Hashable, Sendable, Encodable {
    case drink(DrinkOutcome)
    /// The session that runs, or the last one.
    case session(SessionReport)

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .drink(let outcome): try outcome.encode(to: encoder)
        case .session(let session): try session.encode(to: encoder)
        }
    }
}
