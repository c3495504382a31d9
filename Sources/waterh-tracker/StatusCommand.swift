import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService
import Utilities

struct Status: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show today",
        discussion: """
            The formats waybar, i3blocks, polybar, tmux and plain are one line for a status bar. With --follow, the \
            command prints a line at each change until the bar ends. --item session shows the Waterline session.
            """)

    enum Item: String, ExpressibleByArgument, CaseIterable { case day, session }

    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .reading }
    @Option(
        help:
            "Output format (default: text, with --follow: plain)"
    )
    var format: StatusFormat?
    @Option(help: "Subject of the line")
    var item: Item = .day
    @Flag(help: "Print a line now and at each change, until stopped")
    var follow = false
    @Option(
        help: ArgumentHelp(
            "Speed of the clock with --follow, from --now on (1–100000, default 1)",
            valueName: "times"))
    var speed: Double?

    func validate() throws {
        guard follow else {
            if speed != nil { throw ValidationError("--speed requires --follow") }
            return
        }
        if format == .text {
            throw ValidationError(
                "invalid --format text: --follow prints json, waybar, i3blocks, polybar, tmux or plain")
        }
        if let speed, !(1...100_000).contains(speed) {
            throw ValidationError("invalid --speed \(speed): expected 1–100000")
        }
    }

    func run(_ context: CommandContext) async throws {
        if follow, let service = context.service {
            return try await ServiceFollower(service: service.socket, line: line).run()
        }
        guard !follow else {
            // From --now on, time passes in this process.
            let start = context.tracker.context.explicitNow
            if start != nil || speed != nil { Machine.accelerate(at: speed ?? 1, from: start) }
            return try await StatusFollower(options: options, location: context.location, line: line).run()
        }
        let snapshot = try context.tracker.state()
        if effectiveFormat == .json {
            return TextOutput.standard.line(
                try TrackerAPI.json(
                    OwnerStatus(snapshot: snapshot, publisherErrors: try context.store.publisherErrors())))
        }
        if let line = try line(TrackerAPI.json(snapshot)) { return TextOutput.standard.line(line) }
        for line in try StatusText.lines(snapshot, context) { TextOutput.standard.line(line) }
    }

    /// The output of a format with one line.
    /// - Parameter state: the state as JSON.
    /// - Returns: `nil` for the text with several lines.
    private func line(_ state: String) throws -> String? {
        guard effectiveFormat != .json else { return state }
        let day = try JSONDecoder().decode(StatusFields.self, from: Data(state.utf8))
        return try effectiveFormat.line(item == .day ? StatusItem(day) : StatusItem(session: day.waterline))
    }

    private var effectiveFormat: StatusFormat { options.json ? .json : format ?? (follow ? .plain : .text) }
}

extension StatusText {
    static let emptyList = "No drinks recorded yet"

    static func lines(_ snapshot: TrackerSnapshot, _ context: CommandContext) throws -> [String] {
        let pace = snapshot.pace
        let colour = Console.colour(pace.displayUrgency)
        let summary =
            try context.store.hasBeenUsed()
            ? Console.paint(snapshot.behindText, colour) : "Welcome. Set your goal and hours with: waterh-tracker setup"
        let amount = snapshot.amountText
        let expected = pace.dailyGoalMl > 0 ? Double(pace.expectedMl) / Double(pace.dailyGoalMl) : 0
        let bar = Console.bar(pace.progress, marker: expected, colour)
        let graphics = [Console.ring(pace.progress), bar].compactMap(\.self)
        var lines = [
            "\(Console.paint(snapshot.greeting, .bold))  \(context.dateTime(context.now)) \(snapshot.zone)",
            (graphics + ["\(amount)  \(pace.percent) %", summary]).joined(separator: "  "),
            "\(snapshot.glasses) glasses, \(counted(snapshot.drinkCount, "drink"))"
                + (snapshot.lastDrinkAge.map { ", last \($0)" } ?? ""), next(snapshot, context),
        ]
        if let hint = snapshot.connectionProblem?.hint { lines.append(Console.paint(hint, .red)) }
        lines += bottlesInRange(context)
        if snapshot.sync != .idle {
            lines.append("Sync: \(snapshot.sync.rawValue)" + (snapshot.syncReport.problem.map { ". \($0)" } ?? ""))
        }
        if snapshot.syncReport.rejected > 0 {
            lines.append(
                """
                \(counted(snapshot.syncReport.rejected, "row")) of the sync server rejected: waterh-tracker check \
                --doctor
                """)
        }
        for error in try context.store.publisherErrors() {
            lines.append(Console.paint("\(error.title): \(error.text(now: context.now, at: context.dateTime))", .amber))
        }
        lines += try today(context)
        lines += try waterline(snapshot, context)
        return lines
    }

    /// The bottles in range of the running service, while the store has none.
    private static func bottlesInRange(_ context: CommandContext) -> [String] {
        struct State: Decodable {
            struct Service: Decodable { var bottlesInRange: [BottleInRange]? }
            var service: Service?
        }
        let socket = ServiceSocket(path: ServiceSocket.path(forStore: context.location.path), limitSeconds: 2)
        guard (try? context.tracker.adoptedBottles().isEmpty) == true, let data = try? socket.get("/api/v1/state"),
            let found = try? JSONDecoder().decode(State.self, from: data).service?.bottlesInRange
        else { return [] }
        return found.map {
            "Bottle in range, not adopted: \($0.text). If it is yours: waterh-gateway adopt \($0.address)"
        }
    }

    private static func next(_ snapshot: TrackerSnapshot, _ context: CommandContext) -> String {
        switch snapshot.nextDrink.phase {
        case .counting:
            "Next drink in \(Countdown.inMinutes(snapshot.nextDrink.secondsLeft ?? 0)), at "
                + (snapshot.nextDrink.due.map(context.time) ?? "--")
        case .alerting: Console.paint("A drink is due now.", .amber)
        case .outsideHours: "Outside drinking hours"
        case .goalReached: "Nothing more is due today."
        }
    }

    private static func today(_ context: CommandContext) throws -> [String] {
        let drinks = try context.tracker.drinksToday()
        guard !drinks.isEmpty else { return ["", emptyList] }
        let shown = drinks.suffix(8).reversed().map { drink in
            """
              \("d\(drink.number)".padded(7)) \(context.time(drink.at))  \(context.amount(drink.ml).aligned(8))  \
            \(drink.source.rawValue)
            """
        }
        let earlier = drinks.count > 8 ? ["  and \(drinks.count - 8) earlier: waterh-tracker history --day today"] : []
        return ["", "Today"] + shown + earlier
    }

    private static func waterline(_ snapshot: TrackerSnapshot, _ context: CommandContext) throws -> [String] {
        guard let session = snapshot.waterline else { return [] }
        let counts = """
            \(counted(session.state.drinks, "drink")), \(counted(session.state.waters, "water")), value \
            \(Amounts.decimal(session.state.value))
            """
        var lines = [
            "", "Waterline, since \(context.time(session.startTime)) (\(SessionSummary.text(session.elapsedSeconds)))",
        ]
        let gauge = Console.gauge(session.state.gauge, isWarning: session.state.isWarning)
        lines.append("  " + [gauge, counts].compactMap(\.self).joined(separator: "  "))
        lines.append("  \(session.waterDueText)" + (session.nextReminderText.map { ", next reminder in \($0)" } ?? ""))
        if let warning = session.warningText { lines.append("  " + Console.paint(warning, .amber)) }
        if let hours = session.abandonedHours {
            lines.append("  \(NotificationTexts.abandoned(hours: hours).title)  (session end, or session keep-going)")
        }
        return lines
    }
}

/// The fields of the state for a status bar.
struct StatusFields: Decodable {
    struct Session: Decodable {
        var value: Double
        var waterDueText: String
        var drinks: Int
        var waters: Int
        var warningText: String?
        var isWarning: Bool
        var gauge: Double
    }

    var litresText: String
    var percent: Int
    var statusText: String
    var lastDrinkAge: String?
    var displayUrgency: Urgency
    var phase: String
    var waterline: Session?
}

/// The content of a status bar: the day, or a Waterline session.
struct StatusItem: Equatable {
    var text: String
    var short: String
    var tooltip: String
    /// The class for style sheets.
    var state: String
    /// The phase of the day; for a session `running` or `idle`.
    var phase: String
    var percent: Int
    /// The colour as `#RRGGBB` (tracker spec B6).
    var colour: String

    init(_ day: StatusFields) {
        text = day.litresText
        short = "\(day.percent) %"
        tooltip = [day.statusText, day.lastDrinkAge.map { "last drink \($0)" }, day.waterline?.waterDueText].compactMap(
            \.self
        ).joined(separator: "\n")
        state = "\(day.displayUrgency)"
        phase = day.phase
        percent = day.percent
        colour =
            switch day.displayUrgency {
            case .onTrack: "#42A5F5"
            case .attention: "#FFB300"
            case .overdue: "#E53935"
            }
    }

    /// Creates the item of a session; `nil` means no active session (US-030).
    init(session: StatusFields.Session?) {
        guard let session else {
            (text, short, tooltip, state, phase, percent, colour) = ("No Session", "", "", "idle", "idle", 0, "#6B7B8D")
            return
        }
        let value = Amounts.decimal((session.value * 10).rounded() / 10)
        text = "\(value) · \(session.waterDueText)"
        short = value
        tooltip = [
            """
            \(session.drinks) drink\(session.drinks == 1 ? "" : "s"), \(session.waters) \
            water\(session.waters == 1 ? "" : "s")
            """,
            session.warningText,
        ].compactMap(\.self).joined(separator: "\n")
        (state, phase) = (session.isWarning ? "warning" : "running", "running")
        percent = Int((session.gauge * 100).rounded())
        colour = session.isWarning ? "#E53935" : "#42A5F5"
    }
}

enum StatusFormat: String, ExpressibleByArgument, CaseIterable {
    case text, json, waybar, i3blocks, polybar, tmux, plain

    /// One line in the format of a status bar; `nil` for the formats `text` and `json`.
    func line(_ item: StatusItem) throws -> String? { try Self.lines[self]?(item) }

    private static let lines: [StatusFormat: @Sendable (StatusItem) throws -> String] = [
        .waybar: {
            try TrackerAPI.json(
                Waybar(text: $0.text, alt: $0.phase, tooltip: $0.tooltip, class: $0.state, percentage: $0.percent))
        }, .i3blocks: { try TrackerAPI.json(I3Block(full_text: $0.text, short_text: $0.short, color: $0.colour)) },
        // `%{` begins a formatting tag of polybar.
        .polybar: { "%{F\($0.colour)}\(Escaping.replacing($0.text, ["%{": "%%{"]))%{F-}" },
        // `#` begins a format of tmux.
        .tmux: { "#[fg=\($0.colour)]\(Escaping.replacing($0.text, ["#": "##"]))#[default]" }, .plain: { $0.text },
    ]

    /// The output for Waybar's custom module, `return-type: json`.
    private struct Waybar: Encodable {
        var text: String
        var alt: String
        var tooltip: String
        /// The CSS class: `onTrack`, `attention` or `overdue`.
        var `class`: String
        var percentage: Int
    }

    /// A block of the i3bar protocol, for `format=json`.
    private struct I3Block: Encodable {
        var full_text: String
        var short_text: String
        var color: String
    }
}

/// The state with the publishers that failed. Their addresses are shown only to the store's owner.
struct OwnerStatus: Encodable {
    let snapshot: TrackerSnapshot
    let publisherErrors: [PublisherError]

    func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
        try encoder.encode(["outletTroubles": publisherErrors])
    }
}
