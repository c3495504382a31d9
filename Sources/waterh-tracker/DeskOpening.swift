import CommandSupport
import Notifications
import Store
import TrackerCore
import TrackerService

/// The way from the options of a command to a desk over an open store.
struct DeskOpening {
    let place: StorePlace
    private let options: StoreOptions
    private let choice: ZoneChoice

    /// - Parameter place: where the store lies; `nil`: it is looked for.
    init(_ options: StoreOptions, place: StorePlace? = nil) throws {
        let configuration = try Configuration.load(options.config)
        self.place = try place ?? StorePlace.find(options.store, configuration)
        self.options = options
        let named = configuration.zone(flag: options.zone)
        choice = try ZoneChoice(named: named, machine: named == nil ? try Machine.zone() : .utc)
    }

    /// - Parameter now: `nil`: as the options or the clock say.
    func desk(for access: TrackerStore.Access, at now: Instant? = nil) throws -> TrackerDesk {
        let store = try place.open(hostZone: choice.host.id, for: access)
        let given = try given(store)
        return try TrackerDesk(
            store, now: now ?? given ?? Machine.now(), isAsked: given != nil, zone: choice, source: "cli",
            canNotify: SessionBus.find() != nil, remark: { Diagnostics.warning($0) })
    }

    /// The moment that the options or the environment name.
    func given(_ store: TrackerStore) throws -> Instant? {
        let zone = choice.inForce(try store.settings())
        return try (options.now ?? Machine.variable("WATERH_NOW")).map { try Moment.parse($0, now: nil, zone: zone) }
    }
}
