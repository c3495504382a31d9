import ArgumentParser
import CommandKit
import Store
import TrackerCore

struct DrinkCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "drink", abstract: "Log a drink in the Waterline session.",
        discussion: "Without a preset: the one set as waterline.defaultPreset, else a generic drink of 1.0.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "A preset's name or id. See: preset list.") var preset: String?
    @Option(help: "Standard drinks, 0.1-10, instead of the preset's.") var estimate: Double?
    @Option(help: "When: 22:10, 2026-06-15T22:10, or with an offset. Default: now.") var at: String?

    func run(_ desk: Desk) throws {
        let at = try at.map { try Moment.parse($0, now: desk.now, zone: desk.zone) }
        let log = try desk.store.addLog(try draft(desk), at: at, desk.context)
        let amount = Amounts.decimal(log.standardDrinkEstimate ?? 1)
        try SessionWords.tell(desk, "Logged a drink (\(amount)) at \(desk.time(log.timestamp)) as \(log.shortName).")
    }

    private func draft(_ desk: Desk) throws -> LogDraft {
        if let preset {
            guard let found = try desk.store.preset(named: preset) else {
                throw Refusal("noSuchPreset", "There is no preset \"\(preset)\". See them with: waterh-tracker preset list")
            }
            return .drink(found, estimate: estimate)
        }
        let usual = try desk.store.settings().defaultPreset.flatMap { try desk.store.preset(named: $0) }
        return usual.map { .drink($0, estimate: estimate) } ?? .drink(estimate: estimate ?? 1)
    }
}

struct Water: StoreCommand {
    static let configuration = CommandConfiguration(abstract: "Log a water in the Waterline session.")
    @OptionGroup var options: StoreOptions
    @Option(help: "Ounces. Default: the setting waterline.defaultWaterOz.") var oz: Double?
    @Option(help: "Millilitres, instead of ounces.") var ml: Double?
    @Option(help: "When: 22:10, 2026-06-15T22:10, or with an offset. Default: now.") var at: String?

    func validate() throws {
        guard oz == nil || ml == nil else { throw ValidationError("Say --oz or --ml, not both.") }
    }

    func run(_ desk: Desk) throws {
        let at = try at.map { try Moment.parse($0, now: desk.now, zone: desk.zone) }
        let ounces = try Self.checked(oz ?? ml.map { $0 / Ounces.mlPerOunce }) ?? Double(try desk.store.settings().defaultWaterOz)
        let log = try desk.store.addLog(.water(oz: ounces), at: at, desk.context)
        try SessionWords.tell(desk, "Logged a water of \(try desk.volume(ounces)) at \(desk.time(log.timestamp)) as \(log.shortName).")
    }

    /// A water's volume: more than 0 and at most 100 oz.
    static func checked(_ oz: Double?) throws -> Double? {
        guard let oz else { return nil }
        guard oz > 0, oz <= 100 else { throw Refusal("waterVolume", "A water's volume must be more than 0 and at most 100 oz.") }
        return oz
    }
}

struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "A Waterline session: drinks paced with water.",
        subcommands: [Start.self, End.self, Show.self, List.self, KeepGoing.self, Done.self], defaultSubcommand: Show.self)

    struct Start: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Start a session, or show the one that runs.")
        @OptionGroup var options: StoreOptions

        private struct Report: Encodable {
            var started: Bool
            var session: SessionReport
        }

        func run(_ desk: Desk) throws {
            let (session, started) = try desk.store.startSession(desk.context)
            guard let view = try desk.store.session(named: session.id, at: desk.now) else { return }
            try desk.say(Report(started: started, session: SessionReport(view))) {
                let when = "at \(desk.time(session.startTime))"
                return started
                    ? ["Session started \(when). Log with: drink, water. End it with: session end"]
                    : ["A session is running already, started \(when)."] + (try SessionWords.lines(view, desk))
            }
        }
    }

    struct End: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "End the session and show its summary.")
        @OptionGroup var options: StoreOptions
        @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
        @Option(help: "now, or last-log: end it with its last entry.") var at: EndTime = .now

        enum EndTime: String, ExpressibleByArgument, CaseIterable {
            case now
            case lastLog = "last-log"
        }

        func run(_ desk: Desk) throws {
            guard try desk.store.activeSession(at: desk.now) != nil else { throw WaterlineSession.Refusal.noActiveSession }
            try Confirmation.ask("End this session?", isConfirmed: yes, console: desk.console)
            let view = try desk.store.endSession(atLastLog: at == .lastLog, desk.context)
            try desk.say(SessionReport(view)) { ["Session ended."] + (try SessionWords.lines(view, desk)) }
        }
    }

    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "The running session, the last one, or the one named.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Argument(help: "A session's id, or its beginning. See: session list.") var id: String?

        func run(_ desk: Desk) throws {
            guard let view = try SessionWords.find(id, desk) else {
                if let id { throw Refusal("noSuchSession", "There is no one session whose id begins with \"\(id)\".") }
                throw WaterlineSession.Refusal.noActiveSession
            }
            try desk.say(SessionReport(view)) { try SessionWords.lines(view, desk) }
        }
    }

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Past sessions, newest first.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Option(help: "How many.") var limit = 5

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit must be 1 or more.") }
        }

        func run(_ desk: Desk) throws {
            let sessions = try desk.store.pastSessions(limit: limit)
            let views = try sessions.compactMap { try desk.store.session(named: $0.id, at: desk.now) }
            try desk.say(["sessions": views.map(SessionReport.init)]) {
                guard !sessions.isEmpty else { return ["No past sessions yet. Start one with: session start"] }
                return sessions.map { session in
                    let summary = session.computedSummary
                    return "\(session.id.prefix(8))  \(desk.dateTime(session.startTime))  \((summary?.durationText ?? "--").aligned(7))  "
                        + "\(counted(summary?.drinks ?? 0, "drink")), \(counted(summary?.waters ?? 0, "water"))"
                }
            }
        }
    }

    struct KeepGoing: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "keep-going", abstract: "Silence the question whether to end a long session, for 12 hours.")
        @OptionGroup var options: StoreOptions

        func run(_ desk: Desk) throws {
            try desk.store.keepGoing(desk.context)
            try SessionWords.tell(desk, "The session goes on.")
        }
    }

    struct Done: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Done with the last session's summary: it becomes a past one and can no longer be changed.")
        @OptionGroup var options: StoreOptions

        func run(_ desk: Desk) throws {
            guard let last = try desk.store.pastSessions(limit: 1).first else {
                throw Refusal("noSuchSession", "There is no ended session.")
            }
            try desk.store.sealSession(last.id, desk.context)
            guard let view = try desk.store.session(named: last.id, at: desk.now) else { return }
            try desk.say(SessionReport(view)) { ["Sealed."] }
        }
    }
}

/// A session in words.
enum SessionWords {
    /// What every change of entries answers: the session's new state.
    static func tell(_ desk: Desk, _ words: String) throws {
        guard let view = try find(nil, desk) else { return }
        try desk.say(SessionReport(view)) {
            let state = view.state
            let counts = "\(counted(state.drinks, "drink")), \(counted(state.waters, "water")), value \(Amounts.decimal(state.value))."
            let warning = state.isWarning && view.session.isActive ? [desk.console.paint(WaterlineState.warningText, .amber)] : []
            return [words, counts + (view.session.isActive ? " " + state.waterDueText(everyNDrinks: view.everyNDrinks) : "")] + warning
        }
    }

    /// The session named; without a name the running one, else the last.
    static func find(_ id: String?, _ desk: Desk) throws -> SessionView? {
        if let id { return try desk.store.session(named: id, at: desk.now) }
        if let active = try desk.store.activeSession(at: desk.now) { return active }
        return try desk.store.pastSessions(limit: 1).first.flatMap { try desk.store.session(named: $0.id, at: desk.now) }
    }

    static func lines(_ view: SessionView, _ desk: Desk) throws -> [String] {
        let session = view.session
        let state = view.state
        var lines = [
            "Session \(session.id.prefix(8)), \(desk.dateTime(session.startTime)) to "
                + (session.endTime.map(desk.dateTime) ?? "now") + " (\(SessionSummary.text(session.elapsed(at: desk.now))))",
        ]
        if let gauge = desk.console.gauge(state.gauge, isWarning: state.isWarning) { lines.append("  " + gauge) }
        if let summary = session.computedSummary {
            lines.append("  \(counted(summary.drinks, "drink")) (\(Amounts.decimal(summary.standardDrinks)) standard), "
                + "\(counted(summary.waters, "water")) (\(try desk.volume(summary.waterOz)))")
            lines.append("  Pacing adherence " + (summary.adherencePercent.map { "\($0) %" } ?? "--")
                + ", final value \(Amounts.decimal(summary.finalValue))")
        } else {
            lines.append("  \(counted(state.drinks, "drink")), \(counted(state.waters, "water")), value \(Amounts.decimal(state.value)). "
                + state.waterDueText(everyNDrinks: view.everyNDrinks))
            if state.isWarning { lines.append("  " + desk.console.paint(WaterlineState.warningText, .amber)) }
        }
        return try lines + view.logs.map { log in
            let what = log.kind == .water
                ? "water \(try desk.volume(log.amountOz ?? 0))"
                : "\(log.drinkType?.rawValue ?? "drink") \(Amounts.decimal(log.standardDrinkEstimate ?? 1))"
            return "  \(desk.time(log.timestamp))  \(what.padded(16)) \(log.shortName)"
        }
    }
}
