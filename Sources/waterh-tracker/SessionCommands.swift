import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

struct DrinkCommand: AskingCommand {
    static let configuration = CommandConfiguration(
        commandName: "drink", abstract: "Log a drink in the Waterline session.",
        discussion: "Without a preset: the one set as waterline.defaultPreset, else a generic drink of 1.0.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "A preset's name or id. See: preset list.") var preset: String?
    @Option(help: "Standard drinks, 0.1-10, instead of the preset's.") var estimate: Double?
    @Option(help: "When: 22:10, 2026-06-15T22:10, or with an offset. Default: now.") var at: String?

    func run(_ desk: Desk) throws {
        let outcome = try desk.tracker.drink(preset: preset, estimate: estimate, at: at.map(desk.tracker.moment))
        try SessionWords.tell(desk, outcome.session, Self.words(outcome.log, desk))
    }

    func request(_ desk: () throws -> Desk) throws -> (target: String, body: [JSONValue.Member]) {
        let preset = preset.map { JSONValue.Member("preset", .string($0)) }
        return (
            "session/drink",
            [preset, estimate.map { JSONValue.Member("estimate", .double($0)) }].compactMap(\.self)
                + (try moment(at, desk))
        )
    }

    func words(_ answer: Data, _ desk: Desk) throws -> [String] {
        try LoggedEntry.stored(answer, desk).map { SessionWords.change(desk, $0.session, Self.words($0.log, desk)) }
            ?? []
    }

    private static func words(_ log: LogEntry, _ desk: Desk) -> String {
        """
        Logged a drink (\(Amounts.decimal(log.standardDrinkEstimate ?? 1))) at \(desk.time(log.timestamp)) as \
        \(log.shortName).
        """
    }
}

struct Water: AskingCommand {
    static let configuration = CommandConfiguration(
        commandName: "water", abstract: "Log a water in the Waterline session.")
    @OptionGroup var options: StoreOptions
    @Option(help: "Ounces. Default: the setting waterline.defaultWaterOz.", transform: OunceText.value) var oz: Double?
    @Option(help: "Millilitres, instead of ounces, or with a unit as at log.", transform: Self.millilitres) var ml:
        Double?
    @Option(help: "When: 22:10, 2026-06-15T22:10, or with an offset. Default: now.") var at: String?

    func validate() throws {
        guard oz == nil || ml == nil else { throw ValidationError("Say --oz or --ml, not both.") }
    }

    private static func millilitres(_ text: String) throws -> Double {
        guard let ml = Double(text) ?? Amounts.typed(text).map(Double.init) else {
            throw ValidationError("'\(text)' is no amount: write 250, 0.25l or 8oz.")
        }
        return ml
    }

    func run(_ desk: Desk) throws {
        let outcome = try desk.tracker.water(
            oz: oz ?? ml.map { $0 / Ounces.mlPerOunce }, at: at.map(desk.tracker.moment))
        try SessionWords.tell(desk, outcome.session, Self.words(outcome.log, desk))
    }

    func request(_ desk: () throws -> Desk) throws -> (target: String, body: [JSONValue.Member]) {
        let amounts = [oz.map { JSONValue.Member("oz", .double($0)) }, ml.map { JSONValue.Member("ml", .double($0)) }]
        return ("session/water", amounts.compactMap(\.self) + (try moment(at, desk)))
    }

    func words(_ answer: Data, _ desk: Desk) throws -> [String] {
        try LoggedEntry.stored(answer, desk).map { SessionWords.change(desk, $0.session, try Self.words($0.log, desk)) }
            ?? []
    }

    private static func words(_ log: LogEntry, _ desk: Desk) throws -> String {
        "Logged a water of \(try desk.volume(log.amountOz ?? 0)) at \(desk.time(log.timestamp)) as \(log.shortName)."
    }
}

struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "A Waterline session: drinks paced with water.",
        subcommands: [Start.self, End.self, Show.self, List.self, KeepGoing.self, Done.self],
        defaultSubcommand: Show.self)

    struct Start: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "start", abstract: "Start a session, or show the one that runs.")
        @OptionGroup var options: StoreOptions

        func run(_ desk: Desk) throws {
            let start = try desk.tracker.startSession()
            try desk.say(start) {
                let when = "at \(desk.time(start.session.view.session.startTime))"
                return start.started
                    ? ["Session started \(when). Log with: drink, water. End it with: session end"]
                    : ["A session is running already, started \(when)."] + (try SessionWords.lines(start.session, desk))
            }
        }
    }

    struct End: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "end", abstract: "End the session and show its summary.")
        @OptionGroup var options: StoreOptions
        @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false
        @Option(help: "now, or last-log: end it with its last entry.") var at: EndTime = .now

        enum EndTime: String, ExpressibleByArgument, CaseIterable {
            case now
            case lastLog = "last-log"
        }

        func run(_ desk: Desk) throws {
            _ = try desk.tracker.activeSession()
            try Confirmation.ask("End this session?", isConfirmed: yes, console: desk.console)
            let session = try desk.tracker.endSession(atLastLog: at == .lastLog)
            try desk.say(session) { ["Session ended."] + (try SessionWords.lines(session, desk)) }
        }
    }

    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "The running session, the last one, or the one named.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Argument(help: "A session's id, or its beginning. See: session list.") var id: String?

        func run(_ desk: Desk) throws {
            let session = try desk.tracker.session(id)
            try desk.say(session) { try SessionWords.lines(session, desk) }
        }
    }

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "Past sessions, newest first.")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .looking }
        @Option(help: "How many.") var limit = 5

        func validate() throws {
            guard limit > 0 else { throw ValidationError("--limit must be 1 or more.") }
        }

        func run(_ desk: Desk) throws {
            let list = try desk.tracker.sessions(limit: limit)
            try desk.say(list) {
                guard !list.sessions.isEmpty else { return ["No past sessions yet. Start one with: session start"] }
                return list.sessions.map(\.view.session).map { session in
                    let summary = session.computedSummary
                    return
                        """
                        \(session.id.prefix(8))  \(desk.dateTime(session.startTime))  \
                        \((summary?.durationText ?? "--").aligned(7))  
                        """
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
            try SessionWords.tell(desk, desk.tracker.keepGoing(), "The session goes on.")
        }
    }

    struct Done: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "done",
            abstract: "Done with the last session's summary: it becomes a past one and can no longer be changed.")
        @OptionGroup var options: StoreOptions

        func run(_ desk: Desk) throws {
            try desk.say(try desk.tracker.sealLastSession()) { ["Sealed."] }
        }
    }
}

/// A session in words.
enum SessionWords {
    /// What every change of entries answers: the session's new state.
    static func tell(_ desk: Desk, _ session: SessionReport, _ words: String) throws {
        try desk.say(session) { change(desk, session, words) }
    }

    static func change(_ desk: Desk, _ session: SessionReport, _ words: String) -> [String] {
        let view = session.view
        let state = view.state
        let counts =
            """
            \(counted(state.drinks, "drink")), \(counted(state.waters, "water")), value \
            \(Amounts.decimal(state.value)).
            """
        let warning =
            state.isWarning && view.session.isActive ? [desk.console.paint(WaterlineState.warningText, .amber)] : []
        return [
            words, counts + (view.session.isActive ? " " + state.waterDueText(everyNDrinks: view.everyNDrinks) : ""),
        ] + warning
    }

    static func lines(_ report: SessionReport, _ desk: Desk) throws -> [String] {
        let view = report.view
        let session = view.session
        let state = view.state
        var lines = [
            "Session \(session.id.prefix(8)), \(desk.dateTime(session.startTime)) to "
                + (session.endTime.map(desk.dateTime) ?? "now")
                + " (\(SessionSummary.text(session.elapsed(at: desk.now))))"
        ]
        if let gauge = desk.console.gauge(state.gauge, isWarning: state.isWarning) { lines.append("  " + gauge) }
        if let summary = session.computedSummary {
            lines.append(
                "  \(counted(summary.drinks, "drink")) (\(Amounts.decimal(summary.standardDrinks)) standard), "
                    + "\(counted(summary.waters, "water")) (\(try desk.volume(summary.waterOz)))")
            lines.append(
                "  Pacing adherence " + (summary.adherencePercent.map { "\($0) %" } ?? "--")
                    + ", final value \(Amounts.decimal(summary.finalValue))")
        } else {
            lines.append(
                """
                  \(counted(state.drinks, "drink")), \(counted(state.waters, "water")), value \
                \(Amounts.decimal(state.value)). 
                """
                    + state.waterDueText(everyNDrinks: view.everyNDrinks))
            if state.isWarning { lines.append("  " + desk.console.paint(WaterlineState.warningText, .amber)) }
        }
        return try lines
            + view.logs.map { log in
                let what =
                    log.kind == .water
                    ? "water \(try desk.volume(log.amountOz ?? 0))"
                    : "\(log.drinkType?.rawValue ?? "drink") \(Amounts.decimal(log.standardDrinkEstimate ?? 1))"
                return "  \(desk.time(log.timestamp))  \(what.padded(16)) \(log.shortName)"
            }
    }
}
