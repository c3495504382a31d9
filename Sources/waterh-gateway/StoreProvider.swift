import BottleProtocol
import CommandSupport
import Foundation
import Gateway
import Store
import Synchronization
import TrackerCore
import TrackerService

/// An open store and the zone of its days. It creates the application API (`TrackerAPI`) with the current time.
///
/// A process opens its store once and reads the changes of other programs through that connection.
struct StoreProvider: Sendable {
    let store: TrackerStore
    let zone: Zone

    /// - Parameter named: the zone of an option or of the configuration.
    init(_ location: StoreLocation, zone named: String?) throws {
        let choice = try Self.choice(named)
        try self.init(try location.open(hostZone: choice.host.id, for: .writing), choice)
    }

    func reread(zone named: String?) throws -> StoreProvider { try StoreProvider(store, Self.choice(named)) }

    private init(_ store: TrackerStore, _ choice: ZoneChoice) throws {
        self.store = store
        zone = choice.effectiveZone(try store.settings())
        store.setHostZone(choice.host.id)
    }

    /// Returns the named zone, else the zone of this machine.
    static func choice(_ named: String?) throws -> ZoneChoice {
        try ZoneChoice(named: named, machine: named == nil ? try Machine.zone() : .utc)
    }

    /// The zones of a poll of this store: of its days, and of the bottle's clock. Writes nothing.
    static func zones(_ named: String?, _ location: StoreLocation) throws -> (day: Zone, bottle: Zone) {
        let choice = try choice(named)
        guard let settings = try? location.open(hostZone: choice.host.id, for: .reading).settings() else {
            return (choice.host, choice.host)
        }
        let day = choice.effectiveZone(settings)
        return (day, PollOptions(settings: settings.bottle, zone: day).zone)
    }

    /// The application API with the current time.
    /// - Parameters:
    ///   - source: the interface of the request.
    ///   - canNotify: whether a channel can show notifications.
    ///   - warn: receives warnings in addition to a response.
    func tracker(
        source: String = "gateway", canNotify: Bool = false,
        warn: @escaping @Sendable (String) -> Void = { Diagnostics.warning($0) }
    ) -> TrackerAPI {
        TrackerAPI(
            store,
            WriteContext(now: Machine.now(), zone: zone, source: source, makeID: { UUID().uuidString.lowercased() }),
            canNotify: canNotify, warn: warn)
    }

    /// The options of a poll by the settings; command-line options are added later.
    func pollOptions(dialect: RecordDialect?) async throws -> PollOptions {
        var options = try tracker().pollOptions()
        if !options.isClockSynchronised { options.isClockSynchronised = await Machine.isClockSynchronised() ?? false }
        options.releaseDate = ProgramVersion.released
        if let dialect { (options.dialect, options.isDialectExplicit) = (dialect, true) }
        return options
    }

    /// Polls once with the store as the journal.
    /// - Returns: the report, and the entries that were appended to the journal, each with its outcome.
    func poll(
        _ options: PollOptions, with driver: GatewayDriver, show: @escaping @Sendable (Diagnostic) -> Void = { _ in },
        progress: @escaping @Sendable (PollProgress) -> Void = { _ in }
    ) async -> (report: PollReport, journaled: [(entry: JournalEntry, outcome: JournalOutcome)]) {
        let journaled = Mutex<[(entry: JournalEntry, outcome: JournalOutcome)]>([])
        var callbacks = GatewayDriver.Callbacks(tracker: { tracker() })
        (callbacks.diagnostic, callbacks.progress) = (show, progress)
        callbacks.journaled = { entries, outcomes in
            journaled.withLock { $0 += zip(entries, outcomes).map { (entry: $0, outcome: $1) } }
        }
        let report = await driver.poll(options, journal: store, callbacks: callbacks)
        return (report, journaled.withLock { $0 })
    }
}

extension GatewayDriver.Callbacks {
    /// The callbacks of a poll that query the store.
    /// - Parameter tracker: returns the application API with the current time.
    init(tracker: @escaping @Sendable () throws -> TrackerAPI) {
        self.init()
        display.todayTotal = { try tracker().totalToday() }
        display.light = { try tracker().light(ofBottle: $0) }
        lightWritten = { try tracker().store.recordLight($1, ofBottle: $0) }
    }
}
