import Foundation

/// What a fleet says of a batch.
public enum FleetAnswer {
    private struct Taken: Decodable {
        var taken: Int
        var known: Int
        var parked: Int
        var asksFor: [String]?
    }

    /// Whether a fleet says so that it has so many lines of a batch. Whoever else answers at its address with status
    /// 200 (a proxy, a hotel's page, another program) has none.
    public static func has(_ lines: Int, in body: [UInt8]) -> Bool {
        guard let told = try? JSONDecoder().decode(Taken.self, from: Data(body)) else { return false }
        return [told.taken, told.known, told.parked].allSatisfy { (0...lines).contains($0) }
            && told.taken + told.known + told.parked == lines
    }

    /// Whether a fleet says so that it has a store's doubts: how many, `{"doubts":2}`; one of before 27 November 2026
    /// said `{}`.
    public static func hasDoubts(in body: [UInt8]) -> Bool {
        guard let fields = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else { return false }
        return fields.isEmpty || fields["doubts"] is Int
    }

    /// What stands under `asksFor` where the store is to tell its doubts again.
    public static let doubts = "doubts"

    /// Whether the fleet does not know what lies in doubt, or when the person's days begin: it is to be told again.
    public static func asksForDoubts(_ body: [UInt8]) -> Bool {
        (try? JSONDecoder().decode(Taken.self, from: Data(body)))?.asksFor?.contains(doubts) ?? false
    }

    private struct Problem: Decodable {
        var detail: String
    }

    /// The sentence for people, bounded and without line ends; `nil` where there is none.
    public static func detail(_ body: [UInt8]) -> String? {
        guard let problem = try? JSONDecoder().decode(Problem.self, from: Data(body)) else { return nil }
        let words = String(problem.detail.map { $0.isNewline ? " " : $0 }.prefix(400))
        return words.isEmpty ? nil : words.hasSuffix(".") ? String(words.dropLast()) : words
    }
}
