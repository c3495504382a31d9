import TrackerCore

/// Days, weeks and months as a person types them.
package enum DayText {
    /// `today`, `yesterday`, `2026-06-15`.
    /// - Throws: `WrongInput`.
    package static func day(_ text: String, today: LocalDay) throws -> LocalDay {
        switch text {
        case "today": return today
        case "yesterday": return today.adding(days: -1)
        default:
            guard let day = LocalDay(text) else {
                throw WrongInput("notADay", "\"\(text)\" cannot be read here.", values: ["given": text])
            }
            return day
        }
    }

    /// A day of the week that is meant: a day as above, or so many weeks ago.
    /// - Throws: `WrongInput`.
    package static func dayOfWeek(_ text: String?, today: LocalDay) throws -> LocalDay {
        guard let text else { return today }
        if let ago = Int(text), (0...10_000).contains(ago) { return today.adding(days: -7 * ago) }
        return try day(text, today: today)
    }

    /// The first day of a month: `2026-06`.
    /// - Throws: `WrongInput`.
    package static func month(_ text: String) throws -> LocalDay {
        guard let first = LocalDay(text + "-01") else {
            throw WrongInput("notAMonth", "\"\(text)\" cannot be read here.", values: ["given": text])
        }
        return first
    }
}
