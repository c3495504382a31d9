import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

struct Status: WaitingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "How the day stands, and the session if there is one.",
        discussion: """
            For a status bar: --format waybar, i3blocks, polybar, tmux or plain, one line. With --follow a line for \
            each change, for as long as the bar \
            runs, without asking anybody in between; --item session shows the Waterline session instead of the day.
            """)

    enum Item: String, ExpressibleByArgument, CaseIterable { case day, session }

    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(
        help:
            """
            text, json, or one line for a status bar: waybar, i3blocks, polybar, tmux, plain. Default: text; with \
            --follow plain.
            """
    )
    var format: StatusFormat?
    @Option(help: "What the line is about: day or session.")
    var item: Item = .day
    @Flag(help: "A line now and for each change, until it is stopped or nobody reads.")
    var follow = false
    @Option(
        help: ArgumentHelp(
            "With --follow: the clock runs so many times as fast, from --now on. For trying out a bar.",
            valueName: "times"))
    var speed: Double?

    func validate() throws {
        guard follow else {
            if speed != nil { throw ValidationError("--speed is for --follow.") }
            return
        }
        if format == .text {
            throw ValidationError("--follow writes lines: choose json, waybar, i3blocks, polybar, tmux or plain.")
        }
        if let speed, !(1...100_000).contains(speed) { throw ValidationError("--speed is a number from 1 to 100000.") }
    }

    func run(_ desk: Desk) async throws {
        if follow, let service = desk.service {
            return try await ServiceFollow(service: service.socket, line: line).run()
        }
        guard !follow else {
            return try await StatusFollow(
                options: options, place: desk.place, clock: desk.clock(speed: speed ?? 1), line: line
            ).run()
        }
        let snapshot = try desk.tracker.state()
        if formatInForce == .json {
            return desk.console.line(
                try TrackerDesk.json(OwnStatus(snapshot: snapshot, troubles: try desk.tracker.outletTroubles())))
        }
        if let line = try line(snapshot) { return desk.console.line(line) }
        for line in try StatusText.lines(snapshot, desk) { desk.console.line(line) }
    }

    /// `nil` for the text of many lines.
    private func line(_ snapshot: TrackerSnapshot) throws -> String? {
        try formatInForce == .json ? TrackerDesk.json(snapshot) : line(StatusFields(snapshot))
    }

    /// The same of the state as a service tells it, in JSON.
    private func line(_ state: String) throws -> String? {
        try formatInForce == .json ? state : line(JSONDecoder().decode(StatusFields.self, from: Data(state.utf8)))
    }

    private func line(_ day: StatusFields) throws -> String? {
        try formatInForce.line(item == .day ? StatusItem(day) : StatusItem(session: day.waterline))
    }

    private var formatInForce: StatusFormat { options.json ? .json : format ?? (follow ? .plain : .text) }
}

extension Status {
    static func name(_ urgency: Urgency) -> String {
        switch urgency {
        case .onTrack: "onTrack"
        case .attention: "attention"
        case .overdue: "overdue"
        }
    }
}

extension StatusText {
    /// The status for a person.
    static func lines(_ snapshot: TrackerSnapshot, _ desk: Desk) throws -> [String] {
        let pace = snapshot.pace
        let console = desk.console
        let colour = console.colour(pace.displayUrgency)
        let standing =
            try desk.tracker.hasBegun()
            ? console.paint(snapshot.behindText, colour) : "Welcome. Your goal and your hours: waterh-tracker setup"
        let amount = snapshot.amountText
        let mark = pace.dailyGoalMl > 0 ? Double(pace.expectedMl) / Double(pace.dailyGoalMl) : 0
        let graphics = [console.ring(pace.progress), console.bar(pace.progress, mark: mark, colour)].compactMap(\.self)
        var lines = [
            "\(console.paint(snapshot.greeting, .bold))  \(desk.dateTime(desk.now)) \(snapshot.zone)",
            (graphics + ["\(amount)  \(pace.percent) %", standing]).joined(separator: "  "),
            "\(snapshot.glasses) glasses, \(counted(snapshot.drinkCount, "drink"))"
                + (snapshot.lastDrinkAge.map { ", last \($0)" } ?? ""),
            next(snapshot, desk),
        ]
        if let hint = snapshot.connection.hint { lines.append(console.paint(hint, .red)) }
        lines += bottlesInRange(desk)
        if snapshot.sync != .idle {
            lines.append("Sync: \(snapshot.sync.name)" + (snapshot.syncReport.trouble.map { ". \($0)" } ?? ""))
        }
        if snapshot.syncReport.refused > 0 {
            lines.append(
                """
                \(counted(snapshot.syncReport.refused, "row")) of the sync server not taken: waterh-tracker check \
                --doctor
                """
            )
        }
        for trouble in try desk.tracker.outletTroubles() {
            lines.append(console.paint("\(trouble.title): \(trouble.text(now: desk.now, at: desk.dateTime))", .amber))
        }
        lines += try today(desk)
        lines += try waterline(snapshot, desk)
        return lines
    }

    /// The bottles that the running service sees while the store has none of its own.
    private static func bottlesInRange(_ desk: Desk) -> [String] {
        struct State: Decodable {
            struct Service: Decodable { var bottlesInRange: [BottleInRange]? }
            var service: Service?
        }
        let socket = ServiceSocket(path: ServiceSocket.path(forStore: desk.place.path), limitSeconds: 2)
        guard (try? desk.tracker.ownBottles().isEmpty) == true, let data = try? socket.get("/api/v1/state"),
            let found = try? JSONDecoder().decode(State.self, from: data).service?.bottlesInRange
        else { return [] }
        return found.map {
            "Bottle in range, not adopted: \($0.text). If it is yours: waterh-gateway adopt \($0.address)"
        }
    }

    private static func next(_ snapshot: TrackerSnapshot, _ desk: Desk) -> String {
        switch snapshot.nextDrink.phase {
        case .counting:
            "Next drink in \(Countdown.text(snapshot.nextDrink.secondsLeft ?? 0)), at "
                + (snapshot.nextDrink.due.map(desk.time) ?? "--")
        case .alerting: desk.console.paint("A drink is due now.", .amber)
        case .outsideHours: "Outside drinking hours"
        case .goalReached: "Nothing more is due today."
        }
    }

    private static func today(_ desk: Desk) throws -> [String] {
        let drinks = try desk.tracker.drinksToday()
        guard !drinks.isEmpty else { return ["", MainView.emptyList] }
        let shown = drinks.suffix(8).reversed().map { drink in
            """
              \("d\(drink.number)".padded(7)) \(desk.time(drink.at))  \(desk.amount(drink.ml).aligned(8))  \
            \(drink.source.rawValue)
            """
        }
        let more = drinks.count > 8 ? ["  and \(drinks.count - 8) earlier: waterh-tracker history --day today"] : []
        return ["", MainView.sectionTitle] + shown + more
    }

    private static func waterline(_ snapshot: TrackerSnapshot, _ desk: Desk) throws -> [String] {
        guard let session = snapshot.waterline else { return [] }
        let counts =
            """
            \(counted(session.drinks, "drink")), \(counted(session.waters, "water")), value \
            \(Amounts.decimal(session.value))
            """
        var lines = [
            "", "Waterline, since \(desk.time(session.startTime)) (\(SessionSummary.text(session.elapsedSeconds)))",
        ]
        lines.append(
            "  "
                + [desk.console.gauge(session.gauge, isWarning: session.isWarning), counts].compactMap(\.self).joined(
                    separator: "  "))
        lines.append("  \(session.waterDueText)" + (session.nextReminderText.map { ", next reminder in \($0)" } ?? ""))
        if let warning = session.warningText { lines.append("  " + desk.console.paint(warning, .amber)) }
        if let hours = session.abandonedHours {
            lines.append("  \(NotificationTexts.abandoned(hours: hours).title)  (session end, or session keep-going)")
        }
        return lines
    }
}
