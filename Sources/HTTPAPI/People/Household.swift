/// Whose days the server shows: each person has a store. The first one is meant where nobody is named.
public struct Household: Sendable {
    public let people: [Person]

    public init(_ people: [Person]) { self.people = people }

    func person(_ name: String?) -> Person? {
        guard let name else { return people.first }
        return people.first { $0.name == name }
    }
}
