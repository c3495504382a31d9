import Store
import TrackerCore

extension TrackerDesk {
    /// A day's drinks.
    package func day(_ day: LocalDay) throws -> DayDrinksReport {
        let drinks = try store.drinks(on: day, knownAt: context.asked)
        let record = try store.history(from: day, through: day, knownAt: context.asked)[day]
        return DayDrinksReport(day: DayReport(day, record), drinks: drinks.map(report))
    }

    /// The week that contains a day, from the day that the settings begin weeks with.
    package func week(of day: LocalDay) throws -> WeekReport {
        let week = History.week(containing: day, firstDay: try store.settings().weekFirstDay)
        let today = try today()
        let bars = try store.history(from: week.first ?? day, through: week.last ?? day, knownAt: context.asked).bars(
            week: week, today: today)
        return WeekReport(
            days: zip(week, bars).map { DayReport($0, $1) }, totalMl: bars.reduce(0) { $0 + ($1?.totalMl ?? 0) },
            streak: try store.streak(today: today, knownAt: context.asked))
    }

    /// The month that contains a day.
    package func month(of day: LocalDay) throws -> MonthReport {
        let first = day.adding(days: 1 - day.day)
        let last = first.adding(days: LocalDay.length(ofMonth: first.month, year: first.year) - 1)
        let days = try store.history(from: first, through: last, knownAt: context.asked).calendar(
            year: first.year, month: first.month, today: try today())
        return MonthReport(
            month: String(first.description.prefix(7)), days: days.map { DayReport($0.day, $0.record) },
            metDays: days.count { $0.record?.isMet ?? false })
    }

    /// Days in a row that met their goal.
    package func streak() throws -> StreakReport {
        let today = try today()
        return StreakReport(
            streak: try store.streak(today: today, knownAt: context.asked),
            record: try store.history(from: today, through: today, knownAt: context.asked)[today])
    }
}
