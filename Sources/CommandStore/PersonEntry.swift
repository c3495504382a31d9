import CommandKit
import Foundation
import TOMLKit
import TrackerCore

/// One of several people whom `waterh.toml` lists: a store with its bottles.
///
/// ```toml
/// [[person]]
/// name = "anna"
/// store = "/var/lib/waterh/anna.sqlite"
/// goal = 2200                            # ml a day (or "75oz") that a new store begins with; afterwards the day's own setting counts
/// bottles = ["A4:C1:38:01:02:03"]        # addresses or names; without it the bottles that are the store's own
/// link = "bluez:hci0"                    # where it is another than everybody's
/// share-waterline = false                # where it is otherwise than for everybody
/// [person.ntfy]                          # and [person.webhook]: a phone of theirs
/// url = "https://ntfy.example/annas-water"
/// ```
public struct PersonEntry: Equatable, Sendable {
    /// What the person is called in addresses of the page.
    public var name: String
    /// Path of the person's store.
    public var store: String
    /// The goal of a new store, ml a day.
    public var goalMl: Int?
    /// Addresses or names; empty: the bottles that are the store's own.
    public var bottles: [String] = []
    /// Another link than everybody's.
    public var link: String?
    /// Whether Waterline is shown beyond this machine, where it is otherwise than for everybody.
    public var shareWaterline: Bool?
    /// What stands under `[person.ntfy]` and `[person.webhook]`: settings by their names, as texts.
    public var pocket: [String: String] = [:]

    /// What may stand at a person.
    public static let keys = [
        "name", "store", "goal", "bottles", "link", "share-waterline", "ntfy", "webhook",
    ]
    /// So many people at most share one service.
    static let limit = 32
    /// What a name may be: it stands in addresses, cookies and topics.
    static let nameRule = "1 to 32 letters a-z and A-Z, digits, - and _, beginning with a letter"

    /// One who stood in the list.
    public init(name: String, store: String, link: String?) { (self.name, self.store, self.link) = (name, store, link) }

    /// - Parameters:
    ///   - number: which of the list, from 1.
    ///   - file: what errors call the file.
    init(_ table: TOMLTable, number: Int, file: String) throws {
        // Whom an error is about, as far as that can be said.
        let who = table["name"]?.string.flatMap { Self.isName($0) ? "\(number) (\($0))" : nil } ?? "\(number)"
        func wrong(_ key: String, _ wanted: String) -> CommandFailure {
            CommandFailure(
                .badInput, "In the configuration \(file), '\(key)' of person \(who) is to be \(wanted).",
                advice: Configuration.mend)
        }
        func text(_ value: String?, _ key: String) throws -> String {
            guard let value, !value.isEmpty else { throw wrong(key, "a text in quotes") }
            return value
        }
        if let unknown = table.keys.first(where: {
            !Self.keys.contains($0) && !Configuration.isRemoved($0, file)
        }) {
            throw CommandFailure(
                .badInput, "The configuration \(file) has an unknown key '\(unknown)' at person \(who).",
                advice:
                    """
                    Keys of a person: \(Self.keys.joined(separator: ", ")). What stands before the first \
                    [[person]] is everybody's.
                    """
            )
        }
        name = try text(table["name"]?.string, "name")
        guard Self.isName(name) else { throw wrong("name", Self.nameRule) }
        store = try text(table["store"]?.string, "store")
        if let value = table["goal"] {
            guard let goal = value.int ?? value.string.flatMap(Amounts.typed) else {
                throw wrong("goal", "a whole number of ml, or an amount in quotes, as \"75oz\"")
            }
            do {
                var settings = Settings()
                try settings.set([("hydration.goalMl", "\(goal)")])
            } catch let refusal {
                throw wrong(
                    "goal", "a goal: \(refusal.rule.hasSuffix(".") ? String(refusal.rule.dropLast()) : refusal.rule)")
            }
            goalMl = goal
        }
        if let value = table["bottles"] {
            guard let list = value.array else { throw wrong("bottles", "a list of addresses or names in quotes") }
            bottles = try list.map { bottle in
                let text = try text(bottle.string, "bottles").trimmingCharacters(in: .whitespaces)
                guard !text.isEmpty, text.utf8.count <= 248 else {
                    throw wrong("bottles", "a list of addresses or names in quotes")
                }
                return text
            }
        }
        if let value = table["link"] { link = try text(value.string, "link") }
        if let value = table["share-waterline"] {
            guard let shares = value.bool else { throw wrong("share-waterline", "true or false") }
            shareWaterline = shares
        }
        for group in ["ntfy", "webhook"] {
            guard let value = table[group] else { continue }
            guard let own = value.table else { throw wrong(group, "a table, [person.\(group)]") }
            pocket.merge(try Configuration.settings(own, below: group, "\(file), at person \(who)")) { $1 }
        }
    }

    static func isName(_ text: String) -> Bool { text.wholeMatch(of: /[A-Za-z][A-Za-z0-9_-]{0,31}/) != nil }

    /// The list as it stands in the file.
    static func list(_ value: TOMLArray?, file: String) throws -> [PersonEntry] {
        guard let value, !value.isEmpty, value.allSatisfy({ $0.table != nil }) else {
            throw CommandFailure(
                .badInput, "In the configuration \(file), 'person' is to be a list of people.",
                advice: "Write [[person]], and below it name and store.")
        }
        guard value.count <= limit else {
            throw CommandFailure(
                .badInput, "The configuration \(file) lists \(value.count) people: \(limit) at most share one service.",
                advice: "Start another service for the others.")
        }
        let people = try value.enumerated().compactMap { index, entry in
            try entry.table.map { try PersonEntry($0, number: index + 1, file: file) }
        }
        if let twice = Self.firstTwice(people.map { ($0.name, $0.name) }) {
            throw CommandFailure(
                .badInput,
                "The configuration \(file) has two people of the name \(twice.first) (capitals make no difference).",
                advice: "Give each a name of their own.")
        }
        // In topics and ids a name is written plainly: there, too, each is to be somebody else.
        if let twice = Self.firstTwice(people.map { (PlainName.of($0.name), $0.name) }) {
            throw CommandFailure(
                .badInput,
                """
                In the configuration \(file), \(twice.owners[0]) and \(twice.owners[1]) would be one person at a \
                broker: both are written \(twice.first) in topics.
                """,
                advice: "Give one of them another name: - and _ make no difference there.")
        }
        if let twice = Self.firstTwice(people.flatMap { person in person.bottles.map { ($0, person.name) } }) {
            throw CommandFailure(
                .badInput,
                """
                The configuration \(file) lists the bottle \(twice.first) \
                \(twice.owners[0] == twice.owners[1] ? "twice at \(twice.owners[0])" : "at \(twice.owners[0]) and at \(twice.owners[1])").
                """,
                advice: "A bottle's drinks are one person's: list it once.")
        }
        return people
    }

    /// What stands at two places, and at which.
    private static func firstTwice(_ all: [(text: String, owner: String)]) -> (first: String, owners: [String])? {
        var seen: [String: String] = [:]
        for (text, owner) in all {
            // Addresses in capitals or not, with either mark between: one bottle.
            let isAddress = text.wholeMatch(of: /[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}/) != nil
            let key = isAddress ? text.uppercased().replacing("-", with: ":") : text.lowercased()
            if let other = seen[key] { return (text, [other, owner]) }
            seen[key] = owner
        }
        return nil
    }
}
