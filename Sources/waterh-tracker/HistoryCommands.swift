import ArgumentParser
import CommandKit
import Store
import TrackerCore

struct HistoryCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "A week's bars, a month, or the drinks of a day.")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }
    @Option(help: "The drinks of a day: today, yesterday, or 2026-06-15.") var day: String?
    @Option(help: "The week that contains a date, or so many weeks ago: 2026-06-15, 1.") var week: String?
    @Option(help: "A month: 2026-06.") var month: String?

    func validate() throws {
        guard [day, week, month].compactMap(\.self).count <= 1 else {
            throw ValidationError("Ask for one of --day, --week and --month.")
        }
    }

    func run(_ desk: Desk) throws {
        if let day { try DayView.show(Dates.day(day, desk), desk) }
        else if let month { try MonthView.show(Dates.month(month), desk) }
        else { try WeekView.show(Dates.week(week, desk), desk) }
    }
}

struct Streak: StoreCommand {
    static let configuration = CommandConfiguration(abstract: "Days in a row that met their goal.")
    @OptionGroup var options: StoreOptions
    var access: TrackerStore.Access { .looking }

    private struct Report: Encodable {
        var streak: Int
        var today: String
        var todayClass: String
    }

    func run(_ desk: Desk) throws {
        let today = try desk.today()
        let streak = try desk.store.streak(today: today)
        let record = try desk.store.history(from: today, through: today)[today]
        try desk.say(Report(streak: streak, today: today.description, todayClass: record.dayClass.rawValue)) {
            [
                "\(counted(streak, "day")) in a row. Today: \(Amounts.millilitres(record.totalMl)) / \(Amounts.millilitres(record.goalMl))"
                    + (record.isMet ? ", met." : record.totalMl > 0 ? ", not yet." : ", nothing yet."),
            ]
        }
    }
}

enum Dates {
    static func day(_ text: String, _ desk: Desk) throws -> LocalDay {
        switch text {
        case "today": return try desk.today()
        case "yesterday": return try desk.today().adding(days: -1)
        default:
            guard let day = LocalDay(text) else { throw unreadable(text, "today, yesterday or 2026-06-15") }
            return day
        }
    }

    static func week(_ text: String?, _ desk: Desk) throws -> [LocalDay] {
        let settings = try desk.store.settings()
        let anchor: LocalDay
        if let text, let ago = Int(text), (0...10_000).contains(ago) {
            anchor = try desk.today().adding(days: -7 * ago)
        } else {
            anchor = try text.map { try day($0, desk) } ?? desk.today()
        }
        return History.week(containing: anchor, firstDay: settings.weekFirstDay)
    }

    static func month(_ text: String) throws -> (year: Int, month: Int) {
        guard let first = LocalDay(text + "-01") else { throw unreadable(text, "2026-06") }
        return (first.year, first.month)
    }

    private static func unreadable(_ text: String, _ example: String) -> CommandFailure {
        CommandFailure(.wrongUse, "\"\(text)\" cannot be read here.", advice: "Write \(example).")
    }
}

struct DayReport: Encodable {
    var day: String
    @OrNull var totalMl: Int?
    @OrNull var goalMl: Int?
    /// `met`, `partial`, `none`; null for days to come.
    @OrNull var `class`: String?

    init(_ day: LocalDay, _ record: DayRecord?) {
        self.day = day.description
        totalMl = record?.totalMl
        goalMl = record?.goalMl
        `class` = record?.dayClass.rawValue
    }
}

private enum DayView {
    struct Report: Encodable {
        var day: DayReport
        var drinks: [DrinkReport]
    }

    static func show(_ day: LocalDay, _ desk: Desk) throws {
        let drinks = try desk.store.drinks(on: day)
        let record = try desk.store.history(from: day, through: day)[day]
        try desk.say(Report(day: DayReport(day, record), drinks: drinks.map(DrinkReport.init))) {
            let head = "\(day)  \(Amounts.millilitres(record.totalMl)) / \(Amounts.millilitres(record.goalMl))"
            guard !drinks.isEmpty else { return [head, MainView.emptyList] }
            return [head] + drinks.reversed().map { drink in
                // The wall that the drink was drunk by, wherever one is now.
                let zone = (try? Zone(drink.zone)) ?? desk.zone
                let time = zone.wall(at: drink.at).timeText
                return "  \("d\(drink.number)".padded(7)) \(time)  \(Amounts.millilitres(drink.ml).aligned(8))  \(drink.source.rawValue)"
            }
        }
    }
}

private enum WeekView {
    struct Report: Encodable {
        var days: [DayReport]
        var totalMl: Int
        var streak: Int
    }

    static func show(_ week: [LocalDay], _ desk: Desk) throws {
        guard let first = week.first, let last = week.last else { return }
        let today = try desk.today()
        let bars = try desk.store.history(from: first, through: last).bars(week: week, today: today)
        let streak = try desk.store.streak(today: today)
        let total = bars.reduce(0) { $0 + ($1?.totalMl ?? 0) }
        let report = Report(days: zip(week, bars).map { DayReport($0, $1) }, totalMl: total, streak: streak)
        try desk.say(report) {
            zip(week, bars).map { line($0, $1, desk.console) }
                + ["Total \(Amounts.millilitres(total)), streak \(counted(streak, "day"))."]
        }
    }

    private static func line(_ day: LocalDay, _ record: DayRecord?, _ console: Console) -> String {
        let name = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][day.weekday]
        guard let record else { return "\(name) \(day)" }
        let share = record.goalMl > 0 ? Double(record.totalMl) / Double(record.goalMl) : 0
        let colour: Console.Colour = record.isMet ? .green : .blue
        let bar = console.bar(share, width: 20, colour).map { $0 + "  " } ?? ""
        return "\(name) \(day)  \(bar)\(Amounts.millilitres(record.totalMl).aligned(8)) / \(Amounts.millilitres(record.goalMl))"
            + (record.isMet ? "  met" : "")
    }
}

private enum MonthView {
    struct Report: Encodable {
        var month: String
        var days: [DayReport]
        var metDays: Int
    }

    static func show(_ month: (year: Int, month: Int), _ desk: Desk) throws {
        guard let first = LocalDay(year: month.year, month: month.month, day: 1) else { return }
        let last = first.adding(days: LocalDay.length(ofMonth: month.month, year: month.year) - 1)
        let history = try desk.store.history(from: first, through: last)
        let days = history.calendar(year: month.year, month: month.month, today: try desk.today())
        let met = days.count { $0.record?.isMet ?? false }
        let report = Report(
            month: String(first.description.prefix(7)), days: days.map { DayReport($0.day, $0.record) }, metDays: met)
        try desk.say(report) { lines(days, met, desk) }
    }

    /// A calendar: `#` met, `+` something, `.` nothing, blank to come; in colour on a terminal.
    private static func lines(_ days: [(day: LocalDay, record: DayRecord?)], _ met: Int, _ desk: Desk) -> [String] {
        guard let first = days.first?.day else { return [] }
        let firstDay = (try? desk.store.settings().weekFirstDay.weekday) ?? 0
        let names = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
        var lines = ["\(first.description.prefix(7))", (0..<7).map { names[(firstDay + $0) % 7].padded(5) }.joined()]
        var row = String(repeating: " ", count: 5 * ((first.weekday - firstDay + 7) % 7))
        for (day, record) in days {
            row += cell(day, record, desk.console)
            if (day.weekday - firstDay + 7) % 7 == 6 {
                lines.append(row)
                row = ""
            }
        }
        if !row.isEmpty { lines.append(row) }
        let totals = days.map { $0.record?.totalMl }
        if let spark = desk.console.sparkline(totals, top: totals.compactMap(\.self).max() ?? 1) { lines.append(spark) }
        let sum = totals.reduce(0) { $0 + ($1 ?? 0) }
        lines = lines.map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
        return lines + ["# met, + something, . nothing. \(counted(met, "day")) met, \(Amounts.millilitres(sum)) in all."]
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
