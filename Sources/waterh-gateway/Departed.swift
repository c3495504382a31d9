import CommandStore
import Foundation
import Gateway

/// Somebody whom the service served and serves no more, while it runs: the bottles of that store are not up for
/// adoption.
struct Departed: Sendable {
    let store: String
    private(set) var share: HouseholdBottles.Share

    /// `nil` where the store has no bottle, or is no file.
    init?(_ store: String, _ share: HouseholdBottles.Share) {
        guard !share.own.isEmpty, store != ":memory:" else { return nil }
        self.store = store
        self.share = HouseholdBottles.Share(person: share.person, link: share.link, own: share.own, isGone: true)
    }

    /// Looks again what the store has: a store that is deleted holds no bottle back, one that cannot be read right now
    /// has what it had.
    mutating func look() {
        let isThere = FileManager.default.fileExists(atPath: store)
        let own = isThere ? OwnBottles.look(StorePlace(path: store, origin: .configuration)) : []
        if !own.isEmpty || !isThere { share.own = own }
    }
}
