import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

/// What every verb takes.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The store's file. Default: $WATERH_STORE, else what waterh.toml says, else \
            ~/.local/state/waterh/waterh.sqlite.
            """,
            valueName: "file"), completion: .file())
    var store: String?

    @Option(
        help: ArgumentHelp(
            "The configuration. Default: ~/.config/waterh/waterh.toml, else /etc/waterh/waterh.toml.", valueName: "file"
        ), completion: .file())
    var config: String?

    @Option(
        help: ArgumentHelp(
            """
            Act as if it were then, e.g. 2026-06-15T14:00:00Z or, on the wall, 2026-06-15T14:00. Default: \
            $WATERH_NOW, else the clock.
            """,
            valueName: "instant"))
    var now: String?

    @Option(
        help: ArgumentHelp(
            """
            The time zone, e.g. Europe/Berlin. Default: $WATERH_ZONE, else what waterh.toml says, else the setting \
            day.zone, else the system's.
            """,
            valueName: "zone"))
    var zone: String?

    @Flag(help: "One JSON object on standard output.")
    var json = false
}

/// An open store's desk, and what this surface adds: a console and words.
struct Desk {
    let place: StorePlace
    /// What is decided, for every surface alike.
    let tracker: TrackerDesk
    let console: Console
    let isJSON: Bool
    /// The service that keeps the day, where the store is not this user's to read; then this is a desk on a copy.
    let service: ServiceDay?
    private let copy: ServiceDay.Copy?
    /// The moment that was asked about, where one was named.
    private let given: Instant?

    /// The clock of a command that goes on.
    func clock(speed: Double) -> DeskClock { DeskClock(from: given, speed: speed) }

    /// The store's file.
    var path: String { tracker.path }
    var context: WriteContext { tracker.context }
    var now: Instant { tracker.now }
    var zone: Zone { tracker.zone }

    /// - Parameter isQuiet: nothing is answered yet, so that nothing has to be said beside it.
    init(_ options: StoreOptions, for access: TrackerStore.Access, isQuiet: Bool = false) throws {
        var opening = try DeskOpening(options)
        place = opening.place
        service = access == .looking ? ServiceDay(place, for: access, options) : nil
        copy = try service?.copy()
        if let copy {
            var copied = StorePlace(path: copy.path)
            copied.units = place.units
            opening = try DeskOpening(options, place: copied)
        }
        tracker = try opening.desk(for: access)
        given = try opening.given(tracker.store)
        console = Console()
        isJSON = options.json
        if !isQuiet { for remark in try Self.remarks(tracker.store, place) { Diagnostics.warning(remark) } }
    }

    /// What a person has to know beside the answer, so that it misleads nobody.
    private static func remarks(_ store: TrackerStore, _ place: StorePlace) throws -> [String] {
        var remarks: [String] = []
        if store.found == .nothing {
            remarks.append(
                "There is no store yet (\(store.path)): this is what an empty one says. The first drink makes it.")
        }
        if let other = place.beside, try store.lastDrink() == nil {
            remarks.append(
                """
                This store has no drinks (\(store.path)). A service keeps a day in \(other): see it with --store \
                \(other)
                """
            )
        }
        return remarks
    }

    /// One JSON object with keys in a stable order, or the words for people.
    func say(_ report: some Encodable, _ words: () throws -> [String]) throws {
        if isJSON {
            console.line(try TrackerDesk.json(report))
        } else {
            for line in try words() { console.line(line) }
        }
    }

    /// An amount of drink in the units that the settings ask for.
    func amount(_ ml: Int) -> String { ((try? tracker.settingsInForce().amountUnits) ?? .ml).text(ml) }

    /// A water's volume in the units that the settings ask for: `8 oz`, `237 ml`.
    func volume(_ oz: Double) throws -> String {
        switch try tracker.settingsInForce().units {
        case .oz: "\(Amounts.decimal((oz * 10).rounded() / 10)) oz"
        case .ml: "\(Ounces.millilitres(oz)) ml"
        }
    }

    /// `HH:mm` on the wall of the zone in force.
    func time(_ instant: Instant) -> String { String(zone.wall(at: instant).timeText.prefix(5)) }

    /// `at 14:00`; of another day than today's date `on 2026-06-14 at 14:00`.
    func when(_ instant: Instant) -> String {
        let date = zone.wall(at: instant).dateText
        return date == zone.wall(at: now).dateText ? "at \(time(instant))" : "on \(date) at \(time(instant))"
    }

    /// `2026-06-15 14:00`.
    func dateTime(_ instant: Instant) -> String {
        "\(zone.wall(at: instant).dateText) \(time(instant))"
    }
}
