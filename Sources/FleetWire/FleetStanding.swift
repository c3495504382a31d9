import Foundation

/// How far a store believes that it is known at the fleet; it goes along with a batch, in the field `Waterh-Told`:
/// `STORE GENERATION PLACE`.
///
/// A fleet that knows more of that store takes nothing of the batch and answers with 409: the store was put back from a
/// backup, and counts its changes from there again; or an answer got lost. Either way it tells on in the generation
/// that the answer names.
public struct FleetStanding: Hashable, Sendable {
    /// The field's name.
    public static let field = "Waterh-Told"
    /// The name of the field in which a store says, with a batch and with doubts, what it calls the doubts and the hour
    /// that it told last: 1 to 64 letters and digits of its own choice. A fleet that knows none, or others, asks for
    /// them in its answer (`FleetAnswer.asksForDoubts`).
    public static let doubtsField = "Waterh-Doubts"

    /// Whether it may stand in that field.
    public static func isMark(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) }
    }

    /// Who tells.
    public var store: String
    /// In which it tells.
    public var generation: Int
    /// All changes up to here were told, and the fleet said so.
    public var place: Int64

    /// All of it.
    public init(store: String, generation: Int, place: Int64) {
        (self.store, self.generation, self.place) = (store, generation, place)
    }

    /// As in the field; `nil` where it is none.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, (1...64).contains(parts[0].count), let generation = Int(parts[1]),
            FleetEntry.generations.contains(generation), let place = Int64(parts[2]), place >= 0
        else { return nil }
        self.init(store: String(parts[0]), generation: generation, place: place)
    }

    /// As it stands in the field.
    public var text: String { "\(store) \(generation) \(place)" }

    /// What the fleet knows that the store does not.
    public struct Ahead: Hashable, Sendable, Codable {
        /// In which it tells on.
        public var generation: Int
        /// Drinks of which the fleet was told since; the newest, so many at most.
        public var keys: [String]
        /// So many.
        public static let keyLimit = 10_000

        /// All of it.
        public init(generation: Int, keys: [String]) { (self.generation, self.keys) = (generation, keys) }

        /// Of an answer's body; `nil` where it is none.
        public init?(_ body: [UInt8]) {
            guard let read = try? JSONDecoder().decode(Self.self, from: Data(body)),
                FleetEntry.generations.contains(read.generation)
            else { return nil }
            self = read
        }
    }
}
