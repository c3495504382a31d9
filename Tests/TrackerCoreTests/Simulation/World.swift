import Testing
import TrackerSupport

@testable import TrackerCore

/// Drives the core: drinks and entries that become known at their time, a sink, the stored state, and a clock that
/// advances minute by minute.
struct World {
    var settings = Settings()
    let zone: Zone
    var drinks: [Drink] = []
    var session: WaterlineSession?
    var logs: [LogEntry] = []
    var sips: [Sip] = []
    var engineDay: EngineDay?
    var waterline: WaterlineReminderState?
    let sink = MemorySink()
    /// Accepted notifications with their wall-clock times.
    private(set) var events: [Event] = []

    struct Event: Equatable, CustomStringConvertible {
        var wall: String
        var kind: NotificationKind
        var text: String
        var description: String { "\(wall) \(kind.rawValue) \(text)" }
    }

    init(zone: String = "Europe/Berlin", _ changes: [(String, String)] = []) throws {
        self.zone = try Zone(zone)
        for (name, value) in changes { try settings.set(name, to: value) }
    }

    var calendar: DayCalendar { DayCalendar(zone: zone, boundaryHour: settings.boundaryHour) }

    /// The first instant at which the wall clock shows `2026-06-15 09:30`.
    func moment(_ wall: String) throws -> Instant {
        let day = try day(String(wall.prefix(10)))
        return calendar.instant(on: day, at: try time(String(wall.suffix(5))))
    }

    func facts(at now: Instant) -> TrackerFacts {
        let day = calendar.day(of: now)
        var facts = TrackerFacts(
            settings: settings, zone: zone, days: [day: DayIntake(day: day, folding: drinks)], engineDay: engineDay)
        if let session, session.isActive {
            facts.waterline = WaterlineFacts(session: session, logs: logs, sips: sips, reminders: waterline)
        }
        return facts
    }

    /// Evaluates and delivers; a second evaluation at the same time must find nothing.
    @discardableResult
    mutating func evaluate(at now: Instant) -> Evaluation {
        let wall = String(zone.wall(at: now).description.dropFirst(11).prefix(5))
        var evaluation = Tracker.evaluate(facts(at: now), now: now)
        let before = sink.delivered.count
        evaluation.deliver(to: [sink])
        for notification in sink.delivered[before...] {
            let words = notification.body.isEmpty ? notification.title : notification.body
            events.append(Event(wall: wall, kind: notification.kind, text: words))
        }
        (engineDay, waterline) = (evaluation.engineDay, evaluation.waterlineReminders)
        guard sink.isAvailable else { return evaluation }
        let again = Tracker.evaluate(facts(at: now), now: now)
        #expect(again.decisions.isEmpty, "evaluated twice at \(now): \(again.decisions)")
        #expect(again.engineDay == engineDay && again.waterlineReminders == waterline)
        return evaluation
    }

    /// Evaluates every minute from one time to another, both included; `each` runs before the evaluation.
    mutating func run(
        from start: Instant, to end: Instant, before each: (inout World, Instant) throws -> Void = { _, _ in },
        after: (inout World, Instant, Evaluation) throws -> Void = { _, _, _ in }
    ) rethrows {
        var now = start
        while now <= end {
            try each(&self, now)
            let evaluation = evaluate(at: now)
            try after(&self, now, evaluation)
            now = now.advanced(seconds: 60)
        }
    }

    /// Evaluates 15 June, with drinks at these times.
    mutating func runDay(_ drinks: [(String, Int)] = []) throws {
        let planned = try drinks.map { (try moment("2026-06-15 \($0.0)"), $0.1) }
        try run(from: moment("2026-06-15 04:00"), to: moment("2026-06-16 03:59")) { world, now in
            for (time, ml) in planned where time == now { world.drink(ml, at: now) }
        }
    }

    mutating func drink(_ ml: Int, at now: Instant) {
        let key = "drink\(drinks.count)"
        drinks.append(Drink(key: key, at: now, calendar: calendar, ml: ml, source: .cli, updatedAt: now))
    }

    mutating func log(_ kind: LogEntry.Kind, at time: Instant, estimate: Double = 1) {
        let number = logs.count + 1
        logs.append(
            LogEntry(
                id: "log\(number)", sessionID: session?.id ?? "", timestamp: time, kind: kind,
                standardDrinkEstimate: kind == .alcohol ? estimate : nil, amountOz: kind == .water ? 8 : nil,
                source: .cli, updatedAt: time, seq: number))
    }

    /// Events of these kinds as `09:30 text`.
    func sent(_ kinds: NotificationKind...) -> [String] {
        events.filter { kinds.contains($0.kind) }.map { "\($0.wall) \($0.text)" }
    }

    func times(_ kind: NotificationKind) -> [String] { events.filter { $0.kind == kind }.map(\.wall) }
}

/// Zones for whole days: without changes, with summer time, with a change at 23:00, and with a change of 30 minutes.
let worldZones = ["UTC", "Europe/Berlin", "America/Nuuk", "Australia/Lord_Howe"]

extension Evaluation {
    /// Offers every decision to every channel, closes old notifications and records acceptances, without a store.
    mutating func deliver(to sinks: [MemorySink]) {
        for id in idsToClose { sinks.forEach { $0.close(id: id) } }
        for decision in decisions {
            let accepted = sinks.map { $0.deliver(decision) }
            guard accepted.contains(true) else { continue }
            engineDay.accept(decision)
            waterlineReminders?.accept(decision)
        }
    }
}

extension TrackerFacts {
    init(settings: Settings = Settings(), zone: Zone, drinks: [Drink]) {
        let days = Set(drinks.map(\.localDay)).map { ($0, DayIntake(day: $0, folding: drinks)) }
        self.init(settings: settings, zone: zone, days: Dictionary(uniqueKeysWithValues: days))
    }
}
