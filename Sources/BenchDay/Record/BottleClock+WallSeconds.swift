import BottleProtocol

extension BottleClock {
    /// Seconds of the reading since 2000, by the calendar; `nil` where it is no date.
    var wallSeconds: Int64? {
        guard isPossible else { return nil }
        // Days from civil date: the years begin in March, so that a leap day is the last of its year.
        let (month, year) = (Int64(month), Int64(year) - (month <= 2 ? 1 : 0))
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + Int64(day) - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 730_425
        return days * 86_400 + Int64(hour) * 3600 + Int64(minute) * 60 + Int64(second)
    }
}
