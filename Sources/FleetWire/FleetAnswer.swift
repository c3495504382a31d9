import Foundation

/// What a fleet says of a batch that it did not take.
public enum FleetAnswer {
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
