import ArgumentParser
import Store
import TrackerCore
import TrackerDesk

struct Status: StoreCommand {
    static let configuration = CommandConfiguration(abstract: "How the day stands, and the session if there is one.")

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, waybar }

    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(help: "text, json, or waybar (one line for a status bar's custom module).")
    var format: Format = .text

    func run(_ desk: Desk) throws {
        let snapshot = try desk.tracker.state()
        switch options.json ? .json : format {
        case .json: desk.console.line(try TrackerDesk.json(snapshot))
        case .waybar: desk.console.line(try TrackerDesk.json(Waybar(snapshot)))
        case .text: for line in try StatusText.lines(snapshot, desk) { desk.console.words(line) }
        }
    }
}

/// What waybar's custom module reads.
private struct Waybar: Encodable {
    var text: String
    var alt: String
    var tooltip: String
    /// The CSS class: `onTrack`, `attention` or `overdue`; colours follow it.
    var `class`: String
    var percentage: Int

    init(_ snapshot: TrackerSnapshot) {
        let pace = snapshot.pace
        text = "\(Amounts.litres(pace.dailyTotalMl)) / \(Amounts.litres(pace.dailyGoalMl))"
        alt = snapshot.nextDrink.phase.rawValue
        tooltip = [pace.statusText, snapshot.lastDrinkAge.map { "last drink \($0)" }, snapshot.waterline?.waterDueText]
            .compactMap(\.self).joined(separator: "\n")
        `class` = Status.name(pace.displayUrgency)
        percentage = pace.percent
    }
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
        let amount = "\(Amounts.millilitres(pace.dailyTotalMl)) / \(Amounts.millilitres(pace.dailyGoalMl))"
        let mark = pace.dailyGoalMl > 0 ? Double(pace.expectedMl) / Double(pace.dailyGoalMl) : 0
        let graphics = [console.ring(pace.progress), console.bar(pace.progress, mark: mark, colour)].compactMap(\.self)
        var lines = [
            "\(console.paint(snapshot.greeting, .bold))  \(desk.dateTime(desk.now)) \(snapshot.zone)",
            (graphics + ["\(amount)  \(pace.percent) %", console.paint(status(pace), colour)]).joined(separator: "  "),
            "\(snapshot.glasses) glasses, \(counted(snapshot.drinkCount, "drink"))"
                + (snapshot.lastDrinkAge.map { ", last \($0)" } ?? ""),
            next(snapshot, desk),
        ]
        if let hint = snapshot.connection.hint { lines.append(console.paint(hint, .red)) }
        if snapshot.sync != .idle { lines.append("Sync: \(snapshot.sync.name)" + (snapshot.syncReport.trouble.map { ". \($0)" } ?? "")) }
        if snapshot.syncReport.refused > 0 {
            lines.append("\(counted(snapshot.syncReport.refused, "row")) of the sync server not taken: waterh-tracker check --doctor")
        }
        lines += try today(desk)
        lines += try waterline(snapshot, desk)
        return lines
    }

    private static func status(_ pace: PaceSnapshot) -> String {
        long(deficitMl: pace.deficitMl, totalMl: pace.dailyTotalMl, goalMl: pace.dailyGoalMl)
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
        let drinks = try desk.store.drinks(on: desk.tracker.today(), asOf: desk.now)
        guard !drinks.isEmpty else { return ["", MainView.emptyList] }
        let shown = drinks.suffix(8).reversed().map { drink in
            "  \("d\(drink.number)".padded(7)) \(desk.time(drink.at))  \(Amounts.millilitres(drink.ml).aligned(8))  \(drink.source.rawValue)"
        }
        let more = drinks.count > 8 ? ["  and \(drinks.count - 8) earlier: waterh-tracker history --day today"] : []
        return ["", MainView.sectionTitle] + shown + more
    }

    private static func waterline(_ snapshot: TrackerSnapshot, _ desk: Desk) throws -> [String] {
        guard let session = snapshot.waterline else { return [] }
        let counts = "\(counted(session.drinks, "drink")), \(counted(session.waters, "water")), value \(Amounts.decimal(session.value))"
        var lines = ["", "Waterline, since \(desk.time(session.startTime)) (\(SessionSummary.text(session.elapsedSeconds)))"]
        lines.append("  " + [desk.console.gauge(session.gauge, isWarning: session.isWarning), counts].compactMap(\.self).joined(separator: "  "))
        lines.append("  \(session.waterDueText)" + (session.nextReminderText.map { ", next reminder in \($0)" } ?? ""))
        if let warning = session.warningText { lines.append("  " + desk.console.paint(warning, .amber)) }
        if let hours = session.abandonedHours {
            lines.append("  \(NotificationTexts.abandoned(hours: hours).title)  (session end, or session keep-going)")
        }
        return lines
    }
}
