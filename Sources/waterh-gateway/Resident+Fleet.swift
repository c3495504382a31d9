import CommandKit
import CommandStore
import FleetSurface
import Foundation
import Logging
import Store

extension Resident {
    /// The fleet that the person's drinks are told to, where the file names one.
    /// - Parameter plan: what is in force.
    static func fleet(
        _ store: TrackerStore, _ person: String?, _ plan: @escaping @Sendable () -> PersonPlan, _ watch: StoreWatch?,
        log: Logger
    ) -> FleetOutlet {
        let place = store.path
        return FleetOutlet(
            FleetOutlet.Surroundings(
                store: store, person: person,
                plan: {
                    plan().fleet.flatMap { place in place.url.map { FleetPlan(url: $0, tokenFile: place.tokenFile) } }
                },
                home: { place == ":memory:" ? nil : Machine.home(of: place) }, watch: watch,
                makeID: { UUID().uuidString.lowercased() },
                say: { word in
                    switch word {
                    case .on(let words): log.notice("Drinks are told to the fleet at \(words).")
                    case .trouble(let trouble): log.warning("Fleet: \(sentence(trouble)) It is tried again.")
                    case .goesOn: log.notice("The fleet goes on.")
                    case .off: log.notice("The configuration names no fleet any more.")
                    }
                }))
    }
}
