import Synchronization

/// Whose days the server shows: each person has a store. The first one is meant where nobody is named. People may come
/// and go while it runs.
public final class Household: Sendable {
    private let members: Mutex<[Person]>

    /// The first one is meant where nobody is named.
    public init(_ people: [Person]) { members = Mutex(people) }

    /// In their order.
    public var people: [Person] { members.withLock { $0 } }

    /// From now on these. The streams of those who are gone end.
    public func change(to people: [Person]) async {
        let before = members.withLock { members in
            defer { members = people }
            return members
        }
        for person in before where !people.contains(where: { $0.feed === person.feed }) { await person.feed.end() }
    }

    func person(_ name: String?) -> Person? {
        let people = people
        guard let name else { return people.first }
        return people.first { $0.name == name }
    }

    /// Where a person's day is shown.
    func page(of person: String) -> String { people.count > 1 ? "/people/\(person)/" : "/" }
}
