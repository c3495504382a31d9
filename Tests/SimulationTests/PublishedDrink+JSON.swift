import Foundation
import Simulation
import TrackerCore

extension PublishedDrink {
    private struct Payload: Decodable {
        var id: String
        var sequence: Int64
        var ml: Int?
        var at: String?
        var deleted: Bool
    }

    /// Parses a message to the broker (tracker spec section 10.2).
    init(json text: String) throws {
        let payload = try JSONDecoder().decode(Payload.self, from: Data(text.utf8))
        self.init(
            sequence: payload.sequence, id: payload.id, ml: payload.ml, at: payload.at.flatMap { Instant(iso: $0) },
            isDeleted: payload.deleted)
    }
}
