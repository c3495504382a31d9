import Utilities

/// US fluid ounces.
package enum Ounces {
    package static let mlPerOunce = 29.5735

    /// Converts ounces to millilitres, rounded half up: 8 oz are 237 ml.
    package static func millilitres(_ oz: Double) -> Int {
        guard oz.isFinite else { return 0 }
        return Int((min(max(oz, 0), 1e6) * mlPerOunce + 0.5).rounded(.down))
    }

    /// Parses an amount in ounces, `8`, `8.5`, `8,5`, `8 oz`, or in a metric unit; `nil` if it is invalid.
    package static func parse(_ text: String) -> Double? {
        var number = text.lowercased().filter { $0 != " " }
        for unit in ["floz", "oz"] where number.hasSuffix(unit) {
            number.removeLast(unit.count)
            break
        }
        let isNumber =
            !number.isEmpty && number.allSatisfy { $0.isASCII && ($0.isNumber || $0 == "." || $0 == ",") }
            && number.count { !$0.isNumber } <= 1
        if isNumber { return Double(Escaping.replacing(number, [",": "."])) }
        return Amounts.parse(text).map { Double($0) / mlPerOunce }
    }
}
