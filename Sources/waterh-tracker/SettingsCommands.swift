import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Read or change settings",
        subcommands: [Get.self, Set.self], defaultSubcommand: Get.self)

    struct Get: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "get", abstract: "Show settings")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }
        @Option(help: ArgumentHelp("Bottle whose own settings are shown (address or name)", valueName: "bottle"))
        var bottle: String?
        @Argument(
            help: "Name of a setting, such as hydration.goalMl (default: all)",
            completion: .list(Settings.catalogue.map(\.name)))
        var name: String?

        func run(_ context: CommandContext) throws {
            if let bottle { return try printReport(context.tracker.settings(ofBottle: bottle), context) }
            let report = try name.map(context.tracker.setting) ?? context.tracker.settings()
            for refusal in report.invalid { Diagnostics.warning("a stored value is not valid. \(refusal)") }
            try context.printReport(report) { report in
                name == nil ? report.lines.map { "\($0.name.padded(34)) \($0.text)" } : report.lines.map(\.value.text)
            }
        }

        private func printReport(_ report: BottleSettingsReport, _ context: CommandContext) throws {
            let lines = try report.settings.lines.filter {
                try name == nil || $0.name == Settings.bottleSetting(name ?? "")
            }
            try context.printReport(report) { report in
                name != nil
                    ? lines.map(\.value.text)
                    : lines.map {
                        "\($0.name.padded(34)) \($0.text)\(report.own.contains($0.name) ? "  (its own)" : "")"
                    }
            }
        }
    }

    struct Set: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Change settings",
            discussion: """
                All named settings change, or none. Example: \
                waterh-tracker settings set hydration.goalMl 2000 schedule.wake 06:30
                """)
        @OptionGroup var options: StoreOptions
        @Option(
            help: ArgumentHelp(
                """
                Address or name of the only bottle to change; its settings begin with bottle., and the value inherit \
                removes one
                """,
                valueName: "bottle"))
        var bottle: String?
        @Argument(
            help: "Name and value, in turn; the value unset removes an optional setting",
            completion: .list(Settings.catalogue.map(\.name))) var pairs: [String]

        @Flag(help: "Read the value of one setting from standard input; other users can see arguments")
        var stdin = false

        /// The text that unsets a bottle's own setting.
        private static let inherit = "inherit"

        func validate() throws {
            guard stdin ? pairs.count == 1 : !pairs.isEmpty && pairs.count % 2 == 0 else {
                throw ValidationError(stdin ? "--stdin needs one name" : "expected pairs of NAME VALUE")
            }
        }

        func run(_ context: CommandContext) throws {
            let inputs = stdin ? pairs + [readLine() ?? ""] : pairs
            let changes = stride(from: 0, to: inputs.count, by: 2).map { (name: inputs[$0], text: inputs[$0 + 1]) }
            if let bottle {
                let bottleChanges = changes.map { (name: $0.name, text: $0.text == Self.inherit ? nil : $0.text) }
                let report = try context.tracker.set(bottleChanges, ofBottle: bottle)
                let named = Swift.Set(changes.map { $0.name.lowercased() })
                return try context.printReport(report) { report in
                    report.settings.lines.filter { named.contains($0.name.lowercased()) }.map {
                        "\($0.name) = \($0.text)"
                    }
                }
            }
            try context.printReport(context.tracker.set(changes)) { report in
                report.lines.map { "\($0.name) = \($0.text)" }
            }
        }
    }
}

extension SettingsReport.Line {
    fileprivate var text: String { value == .null ? "(unset)" : value.text }
}

struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup", abstract: "First-time setup",
        discussion: """
            It sets defaults and presets, and asks on a terminal. With --yes, options that are not given keep their \
            default.
            """)
    @OptionGroup var options: StoreOptions
    @Flag(name: .shortAndLong, help: "Ask no questions") var yes = false
    @Option(help: "Drinks per water (1–10)") var waterEvery: String?
    @Option(help: "Time-based reminders: on or off") var timeReminders: String?
    @Option(help: "Interval in minutes: 10, 15, 20, 30, 45 or 60") var interval: String?
    @Option(help: "Waterline value that warns (1–10)") var threshold: String?
    @Option(help: "Units of the day and of the Waterline: oz or ml") var units: String?
    @Option(help: "Daily goal in millilitres, or with a unit, such as 80oz") var goal: String?
    @Option(help: "Notifications: enable sends a test notification") var notifications: Notifications?

    enum Notifications: String, ExpressibleByArgument, CaseIterable { case enable, skip }

    func run() async throws {
        // Open for reading during the questions, so that cancelling creates no store.
        let context = try CommandContext(options, for: .reading, isQuiet: true)
        // If only the service can open the store, opening for writing fails. Report that before any question.
        if context.service != nil { _ = try CommandContext(options, for: .writing) }
        var changes = zip(TrackerAPI.setupNames, [waterEvery, timeReminders, interval, threshold, units, goal])
            .compactMap { name, value in value.map { (name: name, text: $0) } }
        // Validate the given settings before any question.
        var settings = try context.store.settings()
        for change in changes { try settings.set(change.name, to: change.text) }
        let isFirst = try context.tracker.isFirstVisit()
        let asksQuestions = !yes && !context.isJSON && TextOutput.isInteractive
        if isFirst, !context.isJSON {
            TextOutput.standard.line(Console.paint(Onboarding.welcome, .bold))
            TextOutput.standard.line(Onboarding.guardrail)
            TextOutput.standard.line("")
        }
        if isFirst, asksQuestions { changes += try ask(context, except: changes.map(\.name)) }
        // The unit chosen for sessions also becomes the unit of the day, unless the day has its own.
        if settings.hydrationUnits == nil, let units = changes.last(where: { $0.name == "waterline.units" })?.text {
            changes.append(("hydration.units", units))
        }
        let (result, choice) = try await allowNotifications(context, asksQuestions: isFirst && asksQuestions)
        if let choice { changes.append(("notify.desktop", choice == .enable ? "true" : "false")) }
        // The store is written from here on.
        let writing = try CommandContext(options, for: .writing)
        try writing.printReport(writing.tracker.setUp(changes, notifications: result)) { report in
            ["\(isFirst ? "Set up" : "Already set up"):"]
                + report.settings.lines.map { "  \($0.name.padded(30)) \($0.value.text)" }
                + [
                    "  presets".padded(33) + (report.presets ?? []).map(\.name).joined(separator: ", "), "", result, "",
                    "Next: waterh-tracker log 250, waterh-tracker status, waterh-tracker session start",
                    "For the HTTP API, create a token: waterh-tracker token new",
                ]
        }
    }

    private func ask(_ context: CommandContext, except given: [String]) throws -> [(name: String, text: String)] {
        let questions = [
            ("waterline.waterEveryNDrinks", "Number of drinks before a water?"),
            ("waterline.timeReminders", "Time-based reminders?"),
            ("waterline.intervalMinutes", "Minutes between them?"),
            ("waterline.warningThreshold", "Value that causes a warning?"),
            ("waterline.units", "oz or ml?"), ("hydration.goalMl", "Daily goal, in ml or with a unit (80oz)?"),
        ]
        var settings = try context.store.settings()
        var changes: [(name: String, text: String)] = []
        for (name, question) in questions where !given.contains(name) {
            while true {
                let value = settings.value(of: name) ?? .null
                let choice = value == .flag(true) ? "Y/n" : value == .flag(false) ? "y/N" : value.text
                TextOutput.standard.prompt("\(question) [\(choice)] ")
                guard let answer = readLine() else { throw Self.unanswered() }
                guard !answer.isEmpty else { break }
                do {
                    try settings.set(name, to: answer)
                    changes.append((name, answer))
                    break
                } catch {
                    TextOutput.standard.line("\(error)")
                }
            }
        }
        return changes
    }

    /// The error for the end of input (Ctrl-D), which is not an answer.
    private static func unanswered() -> Refusal {
        TextOutput.standard.line("")
        return Refusal("unanswered", "Not all questions were answered. Nothing was set up.")
    }

    /// Explains notifications, and sends a test notification if the user allows them.
    private func allowNotifications(_ context: CommandContext, asksQuestions: Bool) async throws -> (
        result: String, choice: Notifications?
    ) {
        var choice = notifications
        if choice == nil, asksQuestions {
            TextOutput.standard.prompt("\(Onboarding.notifications) [E]nable or [S]kip? ")
            guard let answer = readLine() else { throw Self.unanswered() }
            choice = answer.lowercased().hasPrefix("s") || Bool(answer: answer) == false ? .skip : .enable
        }
        guard let choice else {
            return ("Notifications: not tested. Test them with: waterh-tracker setup --notifications enable", nil)
        }
        guard choice == .enable else { return ("Notifications: skipped.", choice) }
        let isShown = try await TrackerDesktop.sendTest(
            title: "Waterline", body: "Notifications work.", on: context.tracker)
        let result =
            isShown
            ? "Notifications: enabled, a test was sent."
            : """
            Notifications disabled: no notification server answered. Most desktops have one; else start one in your \
            session (dunst, mako).
            """
        return (result, choice)
    }
}

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manage access tokens",
        subcommands: [New.self, List.self, Revoke.self], defaultSubcommand: New.self)

    struct New: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "new", abstract: "Create a token")
        @OptionGroup var options: StoreOptions
        @Option(help: "Label of the token (1–64 characters)") var label = "cli"
        @Option(
            help: """
                Scope: widget (only the widgets), read, log (also drinks and sessions), control (also settings and the \
                bottle), admin (everything)
                """
        ) var scope = Scope.log

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.makeToken(label: label, scope: scope)) { new in
                [
                    new.token,
                    """
                    It is shown only once. A client with it can \(scope.permissions). Other scopes: --scope \
                    \(Self.others(than: scope))
                    """,
                    """
                    It expires when it is not used for 90 days. Revoke it with: waterh-tracker token revoke \
                    \(new.id.prefix(8))
                    """,
                ]
            }
        }

        private static func others(than scope: Scope) -> String {
            let names = Scope.allCases.filter { $0 != scope }.map(\.rawValue)
            return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
        }
    }

    struct List: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List tokens")
        @OptionGroup var options: StoreOptions
        var access: TrackerStore.Access { .reading }

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.tokens()) { list in
                list.tokens.isEmpty
                    ? ["No tokens."]
                    : list.tokens.map {
                        """
                        \($0.id.prefix(8))  \(context.dateTime($0.createdAt))  \($0.scope.padded(7))  \
                        \($0.label)\(Self.state($0, context))
                        """
                    }
            }
        }

        private static func state(_ token: TokenRecord, _ context: CommandContext) -> String {
            if token.revokedAt != nil { return "  revoked" }
            if token.expiresAt <= context.tracker.now { return "  expired" }
            return token.lastUsedAt.map { "  used \(context.dateTime($0).prefix(10))" } ?? ""
        }
    }

    struct Revoke: StoreCommand {
        static let configuration = CommandConfiguration(commandName: "revoke", abstract: "Revoke tokens")
        @OptionGroup var options: StoreOptions
        @Argument(help: "Beginning of the token's ID, as token list prints it") var id: String?
        @Flag(help: "Revoke all tokens") var all = false

        func validate() throws {
            guard (id != nil) != all else { throw ValidationError("expected a token ID or --all") }
            guard id?.isEmpty != true else { throw ValidationError("invalid token ID: it is empty") }
        }

        func run(_ context: CommandContext) throws {
            try context.printReport(context.tracker.revokeTokens(all ? nil : id)) {
                ["Revoked \(counted($0.revoked, "token"))."]
            }
        }
    }
}

extension Scope: ExpressibleByArgument {}
