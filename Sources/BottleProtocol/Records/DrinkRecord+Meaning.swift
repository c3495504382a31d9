extension DrinkRecord {
    /// Whether the date and time exist. 29 February needs a leap year if the year is known.
    package var isDatePossible: Bool { firstImpossibleField == nil }

    /// The years in which bottles can have recorded drinks.
    package static let plausibleYears = 2015...2099

    /// Whether the year is in 2015–2099. Always `true` in `strict`, whose records have no year.
    package var isYearPlausible: Bool { year.map { Self.plausibleYears.contains($0) } ?? true }

    /// Whether the date is impossible or the year implausible, as after a power loss. Such a record is not counted.
    package var isSuspect: Bool { !isDatePossible || !isYearPlausible }

    /// The reason why the record is suspect, as a clause; `nil` if it is not.
    package var suspectReason: String? {
        if let invalidField = firstImpossibleField {
            return "its \(invalidField.name) is \(invalidField.value): the bottle's clock was reset"
        }
        if let year, !isYearPlausible { return "its year is \(year), outside 2015-2099: the bottle's clock was reset" }
        return nil
    }

    /// The first date field out of range, with its byte offset, exceeded limit and value; `nil` if there is none.
    var firstImpossibleField: (name: String, offset: Int, limit: Int, value: Int)? {
        if month < 1 { return ("month", 1, 1, month) }
        if month > 12 { return ("month", 1, 12, month) }
        if day < 1 { return ("day", 2, 1, day) }
        let last = Self.days(inMonth: month, of: year)
        if day > last { return ("day", 2, last, day) }
        if hour > 23 { return ("hour", 3, 23, hour) }
        if minute > 59 { return ("minute", 4, 59, minute) }
        if second > 59 { return ("second", 5, 59, second) }
        return nil
    }

    /// The number of days of a month. Without a year, February has 29 days (tracker spec A1-08).
    static func days(inMonth month: Int, of year: Int?) -> Int {
        switch month {
        case 2: year.map { ($0 % 4 == 0 && $0 % 100 != 0) || $0 % 400 == 0 ? 29 : 28 } ?? 29
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The water temperature in °C: the signed byte 10 of a Vita; `nil` for other models.
    package func temperatureC(_ model: BottleModel?) -> Int? {
        model?.measuresWater == true ? Int(Int8(bitPattern: byte(10))) : nil
    }

    /// The battery level in percent: a Boost stores 01 and the percentage in bytes 10–11.
    package func batteryPercent(_ model: BottleModel?) -> Int? {
        model?.measuresWater == false && byte(10) == 1 && byte(11) <= 100 ? Int(byte(11)) : nil
    }

    /// Total dissolved solids in ppm, if the model measures them.
    package func tdsPpm(model: BottleModel?) -> Int? {
        model?.measuresWater == true ? tdsPpm : nil
    }
}
