import Store
import TrackerCore
import TrackerService

/// The state, and beside it who could not be told of the day: where servers are is the business of whoever has the
/// store, and not of all who see the state.
struct OwnStatus: Encodable {
    let snapshot: TrackerSnapshot
    let troubles: [OutletTrouble]

    private enum CodingKeys: CodingKey { case outletTroubles }

    func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(troubles, forKey: .outletTroubles)
    }
}
