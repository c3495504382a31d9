import ArgumentParser
import CommandSupport
import Store
import TrackerCore
import TrackerService

struct HistoryCommand: StoreCommand {
    static let configuration = CommandConfiguration(commandName: "history", abstract: "Show past days")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .reading }
    @Option(help: "Day whose drinks to show: today, yesterday, or 2026-06-15") var day: String?
    @Option(help: "Week to show: a date in it, or a number of weeks ago (default: this week)") var week: String?
    @Option(help: "Month to show: 2026-06") var month: String?
    @Flag(help: "Show the last 50 notifications that were shown, and where") var notifications = false

    func validate() throws {
        guard [day, week, month, notifications ? "" : nil].compactMap(\.self).count <= 1 else {
            throw ValidationError("only one of --day, --week, --month and --notifications can be used")
        }
    }

    func run(_ context: CommandContext) throws {
        let today = try context.tracker.today()
        if notifications {
            try context.printReport(context.tracker.deliveredNotifications()) { report in
                report.notifications.isEmpty
                    ? ["No notification was shown yet."]
                    : report.notifications.map {
                        "\(context.dateTime($0.sentAt))  \($0.kind.padded(24))  \(Self.channels($0))"
                    }
            }
        } else if let day {
            try context.printReport(context.tracker.day(DayText.day(day, today: today))) { DayView.lines($0, context) }
        } else if let month {
            try context.printReport(context.tracker.month(of: DayText.month(month))) { MonthView.lines($0, context) }
        } else {
            try context.printReport(context.tracker.week(of: DayText.dayOfWeek(week, today: today))) {
                WeekView.lines($0, context)
            }
        }
    }

    private static func channels(_ notification: SentNotification) -> String {
        let missed = notification.missed.sorted { $0.key < $1.key }.map { channel, reason in
            "\(channel) (missed: \(MissedReason(rawValue: reason).map(reasonText) ?? reason))"
        }
        return (notification.channels + missed).joined(separator: ", ")
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
        try context.printReport(context.tracker.streak()) { report in
            let record = report.record
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
    static func lines(_ report: DayDrinksReport, _ context: CommandContext) -> [String] {
        let (record, drinks) = (report.day.record, report.drinks)
        let head = "\(report.day.day)  \(context.amount(record?.totalMl ?? 0)) / \(context.amount(record?.goalMl ?? 0))"
        guard !drinks.isEmpty else { return [head, StatusText.emptyList] }
        return [head]
            + drinks.reversed().map { drink in
                """
                  \("d\(drink.number)".padded(7)) \(context.wallTime(drink).timeText)  \
                \(context.amount(drink.ml).aligned(8))  \(drink.source.rawValue)
                """
            }
    }
}

private enum WeekView {
    static func lines(_ report: WeekReport, _ context: CommandContext) -> [String] {
        report.days.map { line($0.day, $0.record, context) }
            + ["Total \(context.amount(report.totalMl)), streak \(counted(report.streak, "day"))."]
    }

    private static func line(_ day: LocalDay, _ record: DayRecord?, _ context: CommandContext) -> String {
        let name = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][day.weekday]
        guard let record else { return "\(name) \(day)" }
        let share = record.goalMl > 0 ? Double(record.totalMl) / Double(record.goalMl) : 0
        let colour: TextColour = record.isMet ? .green : .blue
        let bar = Console.bar(share, width: 20, colour).map { $0 + "  " } ?? ""
        return "\(name) \(day)  \(bar)\(context.amount(record.totalMl).aligned(8)) / \(context.amount(record.goalMl))"
            + (record.isMet ? "  met" : "")
    }
}

private enum MonthView {
    /// The lines of a calendar: `#` met, `+` partial, `.` none, blank for future days. A terminal shows colours.
    static func lines(_ report: MonthReport, _ context: CommandContext) -> [String] {
        let days = report.days
        guard let first = days.first?.day else { return [] }
        let firstDay = (try? context.store.settings().weekFirstDay.weekday) ?? 0
        let names = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
        var lines = ["\(first.description.prefix(7))", (0..<7).map { names[(firstDay + $0) % 7].padded(5) }.joined()]
        var row = String(repeating: " ", count: 5 * ((first.weekday - firstDay + 7) % 7))
        for (day, record) in days.map({ ($0.day, $0.record) }) {
            row += cell(day, record)
            if (day.weekday - firstDay + 7) % 7 == 6 {
                lines.append(row)
                row = ""
            }
        }
        if !row.isEmpty { lines.append(row) }
        let totals = days.map { $0.record?.totalMl }
        if let sparkline = Console.sparkline(totals, maximum: totals.compactMap(\.self).max() ?? 1) {
            lines.append(sparkline)
        }
        let sum = totals.reduce(0) { $0 + ($1 ?? 0) }
        lines = lines.map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
        return lines + [
            "# goal met, + less, . none. \(counted(report.metDays, "day")) met, \(context.amount(sum)) in total."
        ]
    }

    private static func cell(_ day: LocalDay, _ record: DayRecord?) -> String {
        let number = String(day.day).aligned(2)
        guard let record else { return "\(number)   " }
        return switch record.dayClass {
        case .met: Console.paint("\(number)#", .green) + "  "
        case .partial: Console.paint("\(number)+", .blue) + "  "
        case .none: Console.paint("\(number).", .grey) + "  "
        }
    }
}
