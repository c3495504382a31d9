import ArgumentParser
import CommandSupport
import Store
import TrackerCore
import TrackerService

struct HistoryCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show past days")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .reading }
    @Option(help: "Day whose drinks to show: today, yesterday, or 2026-06-15") var day: String?
    @Option(help: "Week to show: a date in it, or a number of weeks ago (default: this week)") var week: String?
    @Option(help: "Month to show: 2026-06") var month: String?
    @Flag(help: "Show the last 50 notifications that were shown, and where") var notifications = false

    func validate() throws {
        guard [day, week, month, notifications ? "" : nil].compactMap(\.self).count <= 1 else {
            throw ValidationError("--day, --week, --month and --notifications exclude each other")
        }
    }

    func run(_ context: CommandContext) throws {
        let today = try context.tracker.today()
        if notifications {
            let report = try context.tracker.deliveredNotifications()
            try context.printReport(report) {
                report.notifications.isEmpty
                    ? ["No notification was shown yet."]
                    : report.notifications.map {
                        "\(context.dateTime($0.sentAt))  \($0.kind.padded(24))  \(Self.channels($0))"
                    }
            }
        } else if let day {
            try DayView.show(context.tracker.day(DayText.day(day, today: today)), context)
        } else if let month {
            try MonthView.show(context.tracker.month(of: DayText.month(month)), context)
        } else {
            try WeekView.show(context.tracker.week(of: DayText.dayOfWeek(week, today: today)), context)
        }
    }

    private static func channels(_ notification: SentNotification) -> String {
        let missed = notification.missed.sorted { $0.key < $1.key }.map { channel, reason in
            "\(channel) (missed: \(MissedReason(rawValue: reason).map(reasonText) ?? reason))"
        }
        return (notification.sinks + missed).joined(separator: ", ")
    }

    private static func reasonText(_ reason: MissedReason) -> String {
        switch reason {
        case .replaced: "replaced by a later one"
        case .answered: "already answered"
        case .over: "no longer valid"
        case .quietHours: "quiet hours"
        case .overtaken: "held back"
        }
    }
}

struct Streak: StoreCommand {
    static let configuration = CommandConfiguration(commandName: "streak", abstract: "Show the streak")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .reading }

    func run(_ context: CommandContext) throws {
        let report = try context.tracker.streak()
        let record = report.record
        try context.printReport(report) {
            let progress = record.isMet ? "met" : record.totalMl > 0 ? "not yet" : "nothing yet"
            return [
                """
                \(counted(report.streak, "day")) in a row. Today: \(context.amount(record.totalMl)) / \
                \(context.amount(record.goalMl)), \(progress).
                """
            ]
        }
    }
}

private enum DayView {
    static func show(_ report: DayDrinksReport, _ context: CommandContext) throws {
        try context.printReport(report) {
            let (record, drinks) = (report.day.record, report.drinks)
            let head =
                "\(report.day.day)  \(context.amount(record?.totalMl ?? 0)) / \(context.amount(record?.goalMl ?? 0))"
            guard !drinks.isEmpty else { return [head, StatusText.emptyList] }
            return [head]
                + drinks.reversed().map { drink in
                    // Use the time zone of the drink.
                    let zone = (try? Zone(drink.zone)) ?? context.zone
                    let time = zone.wall(at: drink.at).timeText
                    return
                        """
                          \("d\(drink.number)".padded(7)) \(time)  \(context.amount(drink.ml).aligned(8))  \
                        \(drink.source.rawValue)
                        """
                }
        }
    }
}

private enum WeekView {
    static func show(_ report: WeekReport, _ context: CommandContext) throws {
        try context.printReport(report) {
            report.days.map { line($0.day, $0.record, context) }
                + ["Total \(context.amount(report.totalMl)), streak \(counted(report.streak, "day"))."]
        }
    }

    private static func line(_ day: LocalDay, _ record: DayRecord?, _ context: CommandContext) -> String {
        let name = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][day.weekday]
        guard let record else { return "\(name) \(day)" }
        let share = record.goalMl > 0 ? Double(record.totalMl) / Double(record.goalMl) : 0
        let colour: Console.Colour = record.isMet ? .green : .blue
        let bar = context.console.bar(share, width: 20, colour).map { $0 + "  " } ?? ""
        return "\(name) \(day)  \(bar)\(context.amount(record.totalMl).aligned(8)) / \(context.amount(record.goalMl))"
            + (record.isMet ? "  met" : "")
    }
}

private enum MonthView {
    static func show(_ report: MonthReport, _ context: CommandContext) throws {
        try context.printReport(report) { lines(report.days, report.metDays, context) }
    }

    /// The lines of a calendar: `#` met, `+` partial, `.` none, blank for future days. A terminal shows colours.
    private static func lines(_ days: [DayReport], _ met: Int, _ context: CommandContext) -> [String] {
        guard let first = days.first?.day else { return [] }
        let firstDay = (try? context.store.settings().weekFirstDay.weekday) ?? 0
        let names = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
        var lines = ["\(first.description.prefix(7))", (0..<7).map { names[(firstDay + $0) % 7].padded(5) }.joined()]
        var row = String(repeating: " ", count: 5 * ((first.weekday - firstDay + 7) % 7))
        for (day, record) in days.map({ ($0.day, $0.record) }) {
            row += cell(day, record, context.console)
            if (day.weekday - firstDay + 7) % 7 == 6 {
                lines.append(row)
                row = ""
            }
        }
        if !row.isEmpty { lines.append(row) }
        let totals = days.map { $0.record?.totalMl }
        if let sparkline = context.console.sparkline(totals, maximum: totals.compactMap(\.self).max() ?? 1) {
            lines.append(sparkline)
        }
        let sum = totals.reduce(0) { $0 + ($1 ?? 0) }
        lines = lines.map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
        return lines + ["# goal met, + less, . none. \(counted(met, "day")) met, \(context.amount(sum)) in total."]
    }

    private static func cell(_ day: LocalDay, _ record: DayRecord?, _ console: Console) -> String {
        let number = String(day.day).aligned(2)
        guard let record else { return "\(number)   " }
        return switch record.dayClass {
        case .met: console.paint("\(number)#", .green) + "  "
        case .partial: console.paint("\(number)+", .blue) + "  "
        case .none: console.paint("\(number).", .grey) + "  "
        }
    }
}
