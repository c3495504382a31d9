import CommandKit
import CommandStore
import Logging
import PocketSurface
import Store
import TrackerCore
import TrackerDesk

extension Resident {
    /// The person's phones, each where the settings or the file name one.
    /// - Parameter plan: what is in force.
    static func pocket(
        _ store: TrackerStore, _ person: String?, _ plan: @escaping @Sendable () -> PersonPlan, _ watch: StoreWatch?,
        log: Logger
    ) -> [PocketOutlet] {
        PocketService.allCases.map { service in
            PocketOutlet(
                service, pocketSurroundings(service.title, store, person, plan, watch, log: log))
        }
    }

    /// What every way to a person's phone is used in.
    /// - Parameter title: as people write it.
    static func pocketSurroundings(
        _ title: String, _ store: TrackerStore, _ person: String?, _ plan: @escaping @Sendable () -> PersonPlan,
        _ watch: StoreWatch?, log: Logger
    ) -> PocketOutlet.Surroundings {
        PocketOutlet.Surroundings(
            desk: { try TrackerDesk(store, now: Machine.now(), zone: Depot.choice(plan().zone), source: "pocket") },
            overlay: { try plan().pocketSettings(over: $0) }, person: person,
            sharesWaterline: { plan().sharesWaterline },
            watch: watch,
            say: { word in
                switch word {
                case .on(let words): log.notice("Notifications go to \(words).")
                case .trouble(let trouble): log.warning("\(title): \(sentence(trouble)) It is tried again.")
                case .goesOn: log.notice("\(title) goes on.")
                case .off: log.notice("\(title): the settings name no server any more.")
                case .dropped(let words): log.warning("\(title): \(sentence(words))")
                }
            })
    }
}
