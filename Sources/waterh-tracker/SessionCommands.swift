import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

struct DrinkCommand: ServiceCommand {
    static let configuration = CommandConfiguration(
        commandName: "drink", abstract: "Log an alcoholic drink",
        discussion: "Without a preset it uses waterline.defaultPreset, else a generic drink of 1.0 standard drinks.")
    @OptionGroup var options: StoreOptions
    @Argument(help: "Name or ID of a preset") var preset: String?
    @Option(help: "Standard drinks (0.1–10, default: the preset's)") var estimate: Double?
    @Option(help: "Time: 14:00, 2026-06-15T14:00, or with an offset (default: now)") var at: String?

    func perform(_ tracker: TrackerAPI) throws -> LogOutcome {
        try tracker.drink(preset: preset, estimate: estimate, at: at.map(tracker.moment))
    }

    func request(_ context: () throws -> CommandContext) throws -> (target: String, body: [JSONValue.Member]) {
        let preset = preset.map { JSONValue.Member("preset", .string($0)) }
        return (
            "session/drink",
            [preset, estimate.map { JSONValue.Member("estimate", .double($0)) }].compactMap(\.self)
                + (try moment(at, context))
        )
    }

    func text(_ response: Data, _ context: CommandContext) throws -> [String] {
        guard let (session, log) = try LoggedEntry.stored(response, context) else { return [] }
        let (estimate, time) = (Amounts.decimal(log.standardDrinkEstimate ?? 1), context.time(log.timestamp))
        return SessionText.change(context, session, "Logged a drink (\(estimate)) at \(time) as \(log.shortName).")
    }
}

struct Water: ServiceCommand {
    static let configuration = CommandConfiguration(commandName: "water", abstract: "Log a water in the session")
    @OptionGroup var options: StoreOptions
    @Option(
        help: "Amount in fluid ounces, or with a unit (default: waterline.defaultWaterOz)", transform: OunceText.value)
    var oz: Double?
    @Option(help: "Amount in millilitres, or with a unit", transform: Self.millilitres) var ml: Double?
    @Option(help: "Time: 14:00, 2026-06-15T14:00, or with an offset (default: now)") var at: String?

    func validate() throws {
        guard oz == nil || ml == nil else { throw ValidationError("--oz cannot be used with --ml") }
    }

    private static func millilitres(_ text: String) throws -> Double {
        guard let ml = Double(text) ?? Amounts.parse(text).map(Double.init) else {
            throw ValidationError("invalid amount '\(text)': expected 250, 0.25l or 8oz")
        }
        return ml
    }

    func perform(_ tracker: TrackerAPI) throws -> LogOutcome {
        try tracker.water(oz: oz ?? ml.map { $0 / Ounces.mlPerOunce }, at: at.map(tracker.moment))
    }

    func request(_ context: () throws -> CommandContext) throws -> (target: String, body: [JSONValue.Member]) {
        let amounts = [oz.map { JSONValue.Member("oz", .double($0)) }, ml.map { JSONValue.Member("ml", .double($0)) }]
        return ("session/water", amounts.compactMap(\.self) + (try moment(at, context)))
    }

    func text(_ response: Data, _ context: CommandContext) throws -> [String] {
        guard let (session, log) = try LoggedEntry.stored(response, context) else { return [] }
        let (volume, time) = (try context.volume(log.amountOz ?? 0), context.time(log.timestamp))
        return SessionText.change(context, session, "Logged a water of \(volume) at \(time) as \(log.shortName).")
    }
}

struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Manage Waterline sessions",
        subcommands: [Start.self, End.self, Show.self, List.self, KeepGoing.self, Done.self],
        defaultSubcommand: Show.self)

    struct Start: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "start", abstract: "Start a session")
        @OptionGroup var options: StoreOptions

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.startSession()) { start in
                let when = "at \(context.time(start.session.session.startTime))"
                return start.started
                    ? [
                        """
                        Session started \(when). Log with: waterh-tracker drink, waterh-tracker water. \
                        End it with: waterh-tracker session end
                        """
                    ]
                    : ["A session is running already, started \(when)."]
                        + (try SessionText.lines(start.session, context))
            }
        }
    }

    struct End: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "end", abstract: "End the session")
        @OptionGroup var options: StoreOptions
        @Flag(name: .shortAndLong, help: "Do not ask for confirmation") var yes = false
        @Option(help: "End of the session: now, or the time of its last entry") var at: EndTime = .now

        enum EndTime: String, ExpressibleByArgument, CaseIterable {
            case now
            case lastLog = "last-log"
        }

        func run(_ context: CommandContext) throws {
            _ = try context.tracker.activeSession()
            try Confirmation.ask("End this session?", isConfirmed: yes)
            try context.printReport(context.tracker.endSession(atLastLog: at == .lastLog)) {
                ["Session ended."] + (try SessionText.lines($0, context))
            }
        }
    }

    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Show a session")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }
        @Argument(help: "Session ID or an unambiguous prefix of it (default: the active session, else the last one)")
        var id: String?

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.session(id)) { try SessionText.lines($0, context) }
        }
    }

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List past sessions")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }
        @Option(help: "Number of sessions (1 or more)") var limit = 5

        func validate() throws {
            guard limit > 0 else { throw ValidationError("invalid --limit \(limit): expected 1 or more") }
        }

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.sessions(limit: limit)) { list in
                guard !list.sessions.isEmpty else {
                    return ["No past sessions yet. Start one with: waterh-tracker session start"]
                }
                return list.sessions.map(\.session).map { session in
                    let summary = session.computedSummary
                    return """
                        \(session.id.prefix(8))  \(context.dateTime(session.startTime))  \
                        \((summary?.durationText ?? "--").aligned(7))  \(counted(summary?.drinks ?? 0, "drink")), \
                        \(counted(summary?.waters ?? 0, "water"))
                        """
                }
            }
        }
    }

    struct KeepGoing: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "keep-going", abstract: "Mute the question about a long session for 12 hours")
        @OptionGroup var options: StoreOptions

        func run(_ context: CommandContext) throws {
            try SessionText.report(context, context.tracker.keepGoing(), "The session continues.")
        }
    }

    struct Done: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "done", abstract: "Seal the last session against changes")
        @OptionGroup var options: StoreOptions

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.sealLastSession()) { _ in
                ["The session is sealed against changes."]
            }
        }
    }
}

enum SessionText {
    /// Prints the result of a change: the new state of the session.
    static func report(_ context: CommandContext, _ session: SessionView, _ text: String) throws {
        try context.printReport(session) { change(context, $0, text) }
    }

    static func change(_ context: CommandContext, _ view: SessionView, _ text: String) -> [String] {
        let due = view.session.isActive ? " " + view.state.waterDueText(everyNDrinks: view.everyNDrinks) : ""
        return [text, counts(view.state) + due] + (view.session.isActive ? warning(view.state, context) : [])
    }

    private static func counts(_ state: WaterlineState) -> String {
        """
        \(counted(state.drinks, "drink")), \(counted(state.waters, "water")), value \(Amounts.decimal(state.value)).
        """
    }

    private static func warning(_ state: WaterlineState, _ context: CommandContext) -> [String] {
        state.isWarning ? [Console.paint(WaterlineState.warningText, .amber)] : []
    }

    static func lines(_ view: SessionView, _ context: CommandContext) throws -> [String] {
        let session = view.session
        let state = view.state
        var lines = [
            "Session \(session.id.prefix(8)), \(context.dateTime(session.startTime)) to "
                + (session.endTime.map(context.dateTime) ?? "now")
                + " (\(SessionSummary.text(session.elapsed(at: context.now))))"
        ]
        if let gauge = Console.gauge(state.gauge, isWarning: state.isWarning) { lines.append("  " + gauge) }
        if let summary = session.computedSummary {
            lines.append(
                "  \(counted(summary.drinks, "drink")) (\(Amounts.decimal(summary.standardDrinks)) standard), "
                    + "\(counted(summary.waters, "water")) (\(try context.volume(summary.waterOz)))")
            lines.append(
                "  Pacing adherence " + (summary.adherencePercent.map { "\($0) %" } ?? "--")
                    + ", final value \(Amounts.decimal(summary.finalValue))")
        } else {
            lines.append("  \(counts(state)) \(state.waterDueText(everyNDrinks: view.everyNDrinks))")
            lines += warning(state, context).map { "  " + $0 }
        }
        return try lines
            + view.logs.map { log in
                let description =
                    log.kind == .water
                    ? "water \(try context.volume(log.amountOz ?? 0))"
                    : "\(log.drinkType?.rawValue ?? "drink") \(Amounts.decimal(log.standardDrinkEstimate ?? 1))"
                return "  \(context.time(log.timestamp))  \(description.padded(16)) \(log.shortName)"
            }
    }
}

struct PresetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preset", abstract: "Manage presets",
        subcommands: [List.self, Add.self, Edit.self, Delete.self], defaultSubcommand: List.self)

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List presets")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.presets()) { list in
                list.presets.isEmpty
                    ? ["No presets. Add one with: waterh-tracker preset add NAME --type beer"]
                    : list.presets.map(\.line)
            }
        }
    }

    struct Add: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a preset")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Name of the preset (1–64 characters)") var name: String
        @Option(help: "Type of drink") var type: DrinkType = .cocktail
        @Option(help: "Size in fluid ounces, or with a unit", transform: OunceText.value) var oz: Double?
        @Option(help: "Alcohol by volume in percent") var abv: Double?
        @Option(help: "Standard drinks (0.1–10, default: from --oz and --abv, else 1.0)") var estimate: Double?

        func run(_ context: CommandContext) throws {
            let preset = try context.tracker.addPreset(
                name, PresetValues(type: type, sizeOz: oz, abv: abv, estimate: estimate))
            try context.printReport(preset) { ["Added.", $0.line] }
        }
    }

    struct Edit: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "edit", abstract: "Change a preset")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Name or ID of the preset") var preset: String
        @Option(help: "New name (1–64 characters)") var name: String?
        @Option(help: "Type of drink") var type: DrinkType?
        @Option(
            help: "Size in fluid ounces or with a unit; 'none' removes it",
            transform: { try $0 == "none" ? .unset : .number(OunceText.value($0)) })
        var oz: Amount?
        @Option(help: "Alcohol by volume in percent; 'none' removes it") var abv: Amount?
        @Option(help: "Standard drinks (0.1–10)") var estimate: Double?

        func run(_ context: CommandContext) throws {
            var without: Set<PresetValues.Part> = []
            if oz == .unset { without.insert(.size) }
            if abv == .unset { without.insert(.strength) }
            let changed = try context.tracker.editPreset(
                preset,
                PresetValues(
                    name: name, type: type, sizeOz: oz?.value, abv: abv?.value, estimate: estimate, without: without))
            try context.printReport(changed) { ["Changed.", $0.line] }
        }
    }

    /// A number, or the text `none`, which removes the value.
    enum Amount: ExpressibleByArgument, Equatable {
        case unset
        case number(Double)

        init?(argument: String) {
            if argument == "none" {
                self = .unset
            } else if let number = Double(argument) {
                self = .number(number)
            } else {
                return nil
            }
        }

        var value: Double? { if case .number(let number) = self { number } else { nil } }
    }

    struct Delete: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a preset")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Name or ID of the preset") var preset: String

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.deletePreset(preset)) { ["Deleted \($0.name)."] }
        }
    }
}

extension DrinkType: ExpressibleByArgument {}

extension DrinkPreset {
    fileprivate var line: String {
        let size = sizeOz.map { "\(Amounts.decimal($0)) oz" } ?? "--"
        return """
            \(id.prefix(8))  \(name.padded(16)) \(drinkType.rawValue.padded(9)) \(size.aligned(8))  \
            \(Amounts.decimal(standardDrinkEstimate)) standard
            """
    }
}
