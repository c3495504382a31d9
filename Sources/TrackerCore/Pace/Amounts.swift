/// Amounts as text (tracker spec B3, and G, rule 4), independent of the locale.
package enum Amounts {
    /// Rounds to 50 ml, half up; negative values give 0.
    package static func roundToNearest50(_ ml: Int) -> Int { max(0, ml).saturatingAdd(25) / 50 * 50 }

    /// Parses an amount, in millilitres, rounded half up: `250`, `250 ml`, `25cl`, `0.25 l`, `8oz`, `8 fl oz`.
    ///
    /// A number without a unit is in whole millilitres. With a unit it can have a decimal point or comma; an ounce is a
    /// US fluid ounce (`Ounces`). `1,250 ml` is the format of `AmountUnits.text`; other ambiguous amounts are rejected
    /// (`1.250 ml`). `nil` for anything else and above a million litres.
    package static func parse(_ text: String) -> Int? {
        if let ml = Int(text) { return ml }
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0 == ",") }
        let unit = text.dropFirst(number.count).lowercased().filter { $0 != " " }
        if let separator = number.firstIndex(where: { !$0.isNumber }), number[separator...].count == 4, unit != "l" {
            let isGrouped = number[separator] == "," && (1...3).contains(number[..<separator].count)
            if unit == "ml", isGrouped { return Int(number.filter(\.isNumber)) }
            guard unit.hasSuffix("oz"), number[separator] == "." else { return nil }
        }
        guard let unit = mlPerUnit[unit], number.contains(where: \.isNumber),
            number.count(where: { !$0.isNumber }) <= 1, let value = Double(String(number.map { $0 == "," ? "." : $0 }))
        else { return nil }
        let ml = (value * unit + 0.5).rounded(.down)
        return ml <= 1e9 ? Int(ml) : nil
    }

    private static let mlPerUnit = [
        "ml": 1, "cl": 10, "dl": 100, "l": 1000, "oz": Ounces.mlPerOunce, "floz": Ounces.mlPerOunce,
    ]
}

package enum StatusText {
    package static let onTrack = "On track ✓"
    /// The status text at the goal. Differs from the notification's title (K-B22).
    package static let goalReached = "Goal reached! 🎉"

    /// The short status: `350ml to catch up`, `On track ✓` below a rounded 50 ml, or the goal's text.
    package static func short(deficitMl: Int, totalMl: Int, goalMl: Int, in units: AmountUnits = .ml) -> String {
        if totalMl >= goalMl { return goalReached }
        return isBehind(deficitMl) ? "\(units.deficit(deficitMl)) to catch up" : onTrack
    }

    /// The text of the main view: the deficit, `On track ✓` below a rounded 50 ml, or the text of the goal.
    package static func long(deficitMl: Int, totalMl: Int, goalMl: Int, in units: AmountUnits = .ml) -> String {
        if totalMl >= goalMl { return goalReached }
        return isBehind(deficitMl) ? "\(units.spacedDeficit(deficitMl)) behind target" : onTrack
    }

    /// Whether a deficit is displayed: a rounded 50 ml or more, so 25 ml or more (K-B5).
    package static func isBehind(_ deficitMl: Int) -> Bool { Amounts.roundToNearest50(deficitMl) >= 50 }
}

extension Urgency {
    /// The displayed urgency: on track below a rounded 50 ml, so that text and colour agree.
    package static func displayed(_ urgency: Urgency, deficitMl: Int) -> Urgency {
        StatusText.isBehind(deficitMl) ? urgency : .onTrack
    }
}

/// A count with its noun: `1 drink`, `2 drinks`.
package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// The text with a capital first letter and a full stop.
package func asSentence(_ text: String) -> String {
    let start = text.prefix(1).uppercased() + text.dropFirst()
    return start.last.map { ".!?".contains($0) } == true ? start : start + "."
}
