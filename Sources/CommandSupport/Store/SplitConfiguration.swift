import TOMLKit

/// Splits a configuration of 0.9 with several people (`[[person]]`) into one configuration per person. Each person gets
/// a service, `waterh-gateway@NAME`, with the configuration `/etc/waterh/NAME.toml`.
package struct SplitConfiguration: Sendable {
    package struct Part: Equatable, Sendable {
        package let name: String
        /// The text of `NAME.toml`.
        package let text: String

        package var path: String { Paths.configuration(ofInstance: name) }
    }

    package let parts: [Part]

    /// - Returns: `nil` if the text has no list of people.
    /// - Parameter name: the file's name in errors.
    package init?(text: String, name: String) throws {
        try self.init(Configuration.table(text, name), file: name)
    }

    init?(_ table: TOMLTable, file: String) throws {
        guard table.keys.contains("person") else { return nil }
        func invalid(_ problem: String) -> CommandFailure {
            CommandFailure(.badInput, "invalid configuration \(file): \(problem)", advice: Configuration.fixAdvice)
        }
        let people = table["person"]?.array?.compactMap(\.table) ?? []
        guard !people.isEmpty, people.count == table["person"]?.array?.count else {
            throw invalid("'person' is not a list of tables, [[person]]")
        }
        var (parts, names, stores): ([Part], Set<String>, Set<String>) = ([], ["waterh"], [])
        for (index, person) in people.enumerated() {
            guard let name = person["name"]?.string, Configuration.isInstance(name), names.insert(name).inserted else {
                throw invalid("'name' of person \(index + 1) is missing, invalid, or used twice")
            }
            guard let store = person["store"]?.string, !store.isEmpty, stores.insert(store).inserted else {
                throw invalid("'store' of person \(index + 1) is missing or used twice")
            }
            let merged = TOMLTable()
            for key in table.keys where key != "person" { merged[key] = table[key] }
            // A goal in the list was only for a new store, so the existing store has it.
            for key in person.keys where !["name", "goal"].contains(key) { merged[key] = person[key] }
            if index > 0 { merged["listen"] = Self.listen(table["listen"]?.string, index) }
            parts.append(Part(name: name, text: merged.convert(to: .toml, options: []) + "\n"))
        }
        self.parts = parts
    }

    /// The listen address of person `index`: the host of the first person, and its port plus `index`.
    private static func listen(_ text: String?, _ index: Int) -> String {
        let first = text ?? "127.0.0.1:8077"
        guard let colon = first.lastIndex(of: ":"), let port = UInt16(first[colon...].dropFirst()), port > 0 else {
            return first
        }
        return first[...colon] + "\(Int(port) + index)"
    }

    /// The error for a service that was started with the list.
    func failure(file: String) -> CommandFailure {
        CommandFailure(
            .badInput, "The configuration \(file) lists several people: since 0.10 each person has a separate service.",
            advice: parts.map {
                """
                Write \($0.path):

                \($0.text)
                systemctl enable --now waterh-gateway@\($0.name)

                """
            }.joined(separator: "\n"), code: "severalPeople")
    }
}
