import Foundation

/// What a fleet says of a batch.
public enum FleetAnswer {
    private struct Taken: Decodable {
        var asksFor: [String]?
    }

    /// What stands under `asksFor` where the store is to tell its doubts again.
    public static let doubts = "doubts"

    /// Whether the fleet does not know what lies in doubt, or when the person's days begin: it is to be told again.
    public static func asksForDoubts(_ body: [UInt8]) -> Bool { (try? JSONDecoder().decode(Taken.self, from: Data(body)))?.asksFor?.contains(doubts) ?? false }

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
