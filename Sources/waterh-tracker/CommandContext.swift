import ArgumentParser
import CommandSupport
import Foundation
import Notifications
import Store
import TrackerCore
import TrackerService

struct StoreOptions: ParsableArguments {
    @OptionGroup var location: LocationOptions

    @Option(
        help: ArgumentHelp(
            """
            Time to act at, such as 2026-06-15T14:00:00Z or, in the zone, 2026-06-15T14:00 (default: $WATERH_NOW, \
            else now)
            """,
            valueName: "instant"))
    var now: String?

    @Option(
        help: ArgumentHelp(
            """
            IANA time zone, such as Europe/Berlin (default: $WATERH_ZONE, else zone in waterh.toml, else the setting \
            day.zone, else the system's)
            """,
            valueName: "zone"))
    var zone: String?

    @Flag(help: "Print one JSON object")
    var json = false

    var store: String? { location.store }
    var config: String? { location.config }
}

/// The application API of an open store.
struct CommandContext {
    let location: StoreLocation
    let tracker: TrackerAPI
    let isJSON: Bool
    /// The service that owns the store, if this user cannot open it. The application API then reads a copy of the day.
    let service: ServiceConnection?
    private let copy: ServiceConnection.Copy?

    var store: TrackerStore { tracker.store }
    var path: String { tracker.path }
    var now: Instant { tracker.now }
    var zone: Zone { tracker.zone }

    init(_ options: StoreOptions, for access: TrackerStore.Access, isQuiet: Bool = false) throws {
        var opener = try StoreOpener(options)
        location = opener.location
        service = access == .reading ? ServiceConnection(location, for: access, options) : nil
        copy = try service?.copy()
        if let copy {
            opener = try StoreOpener(options, location: StoreLocation(path: copy.path, units: location.units))
        }
        tracker = try opener.context(for: access)
        isJSON = options.json
        if !isQuiet { for remark in try Self.remarks(tracker.store, location) { Diagnostics.warning(remark) } }
    }

    private static func remarks(_ store: TrackerStore, _ location: StoreLocation) throws -> [String] {
        var remarks: [String] = []
        if store.fileState == .nothing {
            remarks.append(
                "No store at \(store.path) yet: the output is that of an empty store. The first drink creates it.")
        }
        if let other = location.serviceStore, try store.lastDrink() == nil {
            remarks.append("This store has no drinks (\(store.path)). A service uses another store: --store \(other)")
        }
        return remarks
    }

    /// Prints one JSON object with sorted keys, or text.
    func printReport<Report: Encodable>(_ report: Report, _ lines: (Report) throws -> [String]) throws {
        if isJSON {
            TextOutput.standard.line(try TrackerAPI.json(report))
        } else {
            for line in try lines(report) { TextOutput.standard.line(line) }
        }
    }

    /// An amount in the configured unit.
    func amount(_ ml: Int) -> String { ((try? store.settings().amountUnits) ?? .ml).text(ml) }

    /// A water's volume in the configured unit: `8 oz`, `237 ml`.
    func volume(_ oz: Double) throws -> String {
        switch try store.settings().units {
        case .oz: "\(Amounts.decimal((oz * 10).rounded() / 10)) oz"
        case .ml: "\(Ounces.millilitres(oz)) ml"
        }
    }

    /// The local time as `HH:mm`.
    func time(_ instant: Instant) -> String { String(zone.wall(at: instant).timeText.prefix(5)) }

    /// The time as `at 14:00`, or on another date as `on 2026-06-14 at 14:00`.
    func when(_ instant: Instant) -> String {
        let date = zone.wall(at: instant).dateText
        return date == zone.wall(at: now).dateText ? "at \(time(instant))" : "on \(date) at \(time(instant))"
    }

    /// The local date and time: `2026-06-15 14:00`.
    func dateTime(_ instant: Instant) -> String { "\(zone.wall(at: instant).dateText) \(time(instant))" }

    /// The date and time of a drink in its own time zone.
    func dateTime(_ drink: StoredDrink) -> String {
        let wall = wallTime(drink)
        return "\(wall.dateText) \(wall.timeText.prefix(5))"
    }

    /// The local time of a drink in its own time zone.
    func wallTime(_ drink: StoredDrink) -> WallTime { ((try? Zone(drink.zone)) ?? zone).wall(at: drink.at) }
}

struct StoreOpener {
    let location: StoreLocation
    private let options: StoreOptions
    private let choice: ZoneChoice

    /// - Parameter location: that of the store; `nil` searches for it.
    init(_ options: StoreOptions, location: StoreLocation? = nil) throws {
        let configuration = try Configuration.load(options.config)
        self.location = try location ?? StoreLocation.find(options.store, configuration)
        self.options = options
        let named = configuration.zone(flag: options.zone)
        choice = try ZoneChoice(named: named, machine: named == nil ? try Machine.zone() : .utc)
    }

    /// Opens the store, and creates the application API for one command.
    /// - Parameter now: the time to act at; `nil` uses the options or the clock.
    func context(for access: TrackerStore.Access, at now: Instant? = nil) throws -> TrackerAPI {
        let store = try location.open(hostZone: choice.host.id, for: access)
        let zone = choice.effectiveZone(try store.settings())
        let fixedTime = try (options.now ?? Machine.variable("WATERH_NOW")).map {
            try TimeText.parse($0, now: nil, zone: zone)
        }
        return try TrackerAPI(
            store, now: now ?? fixedTime ?? Machine.now(), isExplicit: fixedTime != nil, zone: choice, source: "cli",
            canNotify: SessionBus.find() != nil, warn: { Diagnostics.warning($0) })
    }
}

/// The connection to the service of a store that this user cannot open.
struct ServiceConnection {
    let socket: ServiceSocket

    /// Returns `nil` if this user can open the store, if no service responds, or if the options set another time.
    init?(_ location: StoreLocation, for access: TrackerStore.Access, _ options: StoreOptions) {
        guard location.isDenied(for: access), options.now == nil, Machine.variable("WATERH_NOW") == nil else {
            return nil
        }
        socket = ServiceSocket(path: ServiceSocket.path(forStore: location.path), advice: Advice.about)
        guard socket.isAnswering else { return nil }
    }

    /// A copy of the current day for reading.
    func copy() throws -> Copy {
        let copy = Copy(folder: try ScratchFolder())
        try socket.get("/api/v1/backup", to: copy.folder.create(Copy.name))
        return copy
    }

    /// A temporary copy, whose file is deleted when the object is released.
    struct Copy {
        fileprivate let folder: ScratchFolder
        fileprivate static let name = "day.sqlite"
        var path: String { folder.file(Self.name) }
    }
}

/// Parser of an option's value in fluid ounces.
enum OunceText {
    static func value(_ text: String) throws -> Double {
        guard let oz = Ounces.parse(text) else {
            throw ValidationError(
                "invalid amount '\(text)': expected fluid ounces (8), or an amount with a unit (8.5oz, 250ml)")
        }
        return oz
    }
}
