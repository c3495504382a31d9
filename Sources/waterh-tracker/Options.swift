import ArgumentParser
import CommandKit
import CommandStore
import Foundation
import Store
import TrackerCore

/// What every verb takes.
struct StoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The store's file. Default: $WATERH_STORE, else what waterh.toml says, else ~/.local/state/waterh/waterh.sqlite.", valueName: "file"), completion: .file())
    var store: String?

    @Option(help: ArgumentHelp("Act as if it were then, e.g. 2026-06-15T14:00:00Z or, on the wall, 2026-06-15T14:00. Default: $WATERH_NOW, else the clock.", valueName: "instant"))
    var now: String?

    @Option(help: ArgumentHelp("The time zone, e.g. Europe/Berlin. Default: $WATERH_ZONE, else what waterh.toml says, else the setting day.zone, else the system's.", valueName: "zone"))
    var zone: String?

    @Flag(help: "One JSON object on standard output.")
    var json = false
}

/// An open store with the moment and the zone that a verb works in.
struct Desk {
    let place: StorePlace
    let store: TrackerStore
    let context: WriteContext
    let console: Console
    let isJSON: Bool

    var now: Instant { context.now }
    var zone: Zone { context.zone }

    init(_ options: StoreOptions, for access: TrackerStore.Access) throws {
        let configuration = try Configuration.load(nil)
        place = try StorePlace.find(options.store, configuration)
        let given = try (options.zone ?? Self.variable("WATERH_ZONE") ?? configuration.zone).map { try Zone($0) }
        let host = try given ?? Self.hostZone()
        store = try place.open(hostZone: host.id, for: access)
        let zone = try given ?? store.settings().dayZone.map { try Zone($0) } ?? host
        let now = try (options.now ?? Self.variable("WATERH_NOW")).map { try Moment.parse($0, now: nil, zone: zone) } ?? Self.clock()
        context = WriteContext(now: now, zone: zone, source: "cli", makeID: { UUID().uuidString.lowercased() })
        console = Console()
        isJSON = options.json
        for remark in try Self.remarks(store, place) { Diagnostics.warning(remark) }
    }

    /// What a person has to know beside the answer, so that it misleads nobody.
    private static func remarks(_ store: TrackerStore, _ place: StorePlace) throws -> [String] {
        var remarks: [String] = []
        if store.found == .nothing { remarks.append("There is no store yet (\(store.path)): this is what an empty one says. The first drink makes it.") }
        if let other = place.beside, try store.lastDrink() == nil {
            remarks.append("This store has no drinks (\(store.path)). A service keeps a day in \(other): see it with --store \(other)")
        }
        let lost = try store.drinksOutOfTime()
        if lost > 0 { remarks.append("Left out, because no such time can be: \(counted(lost, "drink")). See: waterh-tracker check --doctor") }
        return remarks
    }

    /// The day that runs now.
    func today() throws -> LocalDay {
        DayCalendar(zone: zone, boundaryHour: try store.settings().boundaryHour).day(of: now)
    }

    func state() throws -> TrackerSnapshot { try store.look(context, canNotify: DesktopNotice() != nil).snapshot }

    /// One JSON object with keys in a stable order, or the words for people.
    func say(_ report: some Encodable, _ words: () throws -> [String]) throws {
        if isJSON {
            console.line(try Self.text(report))
        } else {
            for line in try words() { console.line(line) }
        }
    }

    static func text(_ report: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }

    /// A water's volume in the units that the settings ask for: `8 oz`, `237 ml`.
    func volume(_ oz: Double) throws -> String {
        switch try store.settings().units {
        case .oz: "\(Amounts.decimal((oz * 10).rounded() / 10)) oz"
        case .ml: "\(Ounces.millilitres(oz)) ml"
        }
    }

    /// `HH:mm` on the wall of the zone in force.
    func time(_ instant: Instant) -> String { String(zone.wall(at: instant).timeText.prefix(5)) }

    /// `2026-06-15 14:00`.
    func dateTime(_ instant: Instant) -> String {
        "\(zone.wall(at: instant).dateText) \(time(instant))"
    }

    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The only place where the clock of the machine is read.
    private static func clock() -> Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    private static func hostZone() throws -> Zone {
        let id = HostZone.id()
        if let zone = try? Zone(id) { return zone }
        Diagnostics.warning("The system's time zone \"\(id)\" has no IANA name; UTC is used. Name one with --zone or the setting day.zone.")
        return .utc
    }
}

/// Times as a person types them.
enum Moment {
    /// An instant with offset, a wall time in the zone (`2026-06-15T14:00`, with a space too), or `14:00`: the latest
    /// such time that is not after `now`.
    static func parse(_ text: String, now: Instant?, zone: Zone) throws -> Instant {
        if let instant = Instant(iso: text) { return try instant.checked() }
        let wall = text.utf8.count == 16 ? text + ":00" : text
        if let wall = WallTime(wall), let moments = zone.moments(of: wall) { return try moments.first.checked() }
        if let now, let time = TimeOfDay(text) {
            let calendar = DayCalendar(zone: zone, boundaryHour: 0)
            let today = calendar.day(of: now)
            let instant = calendar.instant(on: today, at: time)
            return instant <= now ? instant : calendar.instant(on: today.adding(days: -1), at: time)
        }
        throw CommandFailure(
            .wrongUse, "\"\(text)\" is not a time.",
            advice: "Write 2026-06-15T14:00:00Z, 2026-06-15T14:00 in your zone, or 14:00.")
    }
}

extension WallMoments {
    /// The instant meant by a wall time; the earlier of two.
    var first: Instant {
        switch self {
        case .once(let instant), .repeated(let instant, _), .skipped(let instant, _): instant
        }
    }
}
