import Foundation

/// The unit of displayed amounts (`hydration.units`). Stored amounts are in millilitres.
package enum AmountUnits: String, Hashable, Sendable, CaseIterable {
    /// Millilitres; deficits and short forms from one litre on in litres (tracker spec B3).
    case ml
    /// Litres, to the millilitre.
    case l
    /// US fluid ounces, to a tenth.
    case oz

    /// An amount: `1,250 ml`, `1.25 l`, `42.3 oz`.
    package func text(_ ml: Int) -> String {
        switch self {
        case .ml: Self.grouped(ml) + " ml"
        case .l: Amounts.decimal(Double(ml) / 1000) + " l"
        case .oz: Amounts.decimal((Double(ml) / Ounces.mlPerOunce * 10).rounded() / 10) + " oz"
        }
    }

    /// An amount in short form: `1.2L`, `42oz`. Litres have one decimal, like C's `%.1f`, including binary ties:
    /// 1250 ml is `1.2L` and 1350 ml is `1.4L`.
    package func short(_ ml: Int) -> String {
        self == .oz ? "\(ounces(ml))oz" : String(format: "%.1fL", Double(ml) / 1000)
    }

    /// A deficit, rounded as in reminders: `350ml` and from 1000 on `1.2L`, `0.35l`, `12oz`.
    package func deficit(_ ml: Int) -> String {
        let rounded = Amounts.roundToNearest50(ml)
        return switch self {
        case .ml: rounded >= 1000 ? short(rounded) : "\(rounded)ml"
        case .l: Amounts.decimal(Double(rounded) / 1000) + "l"
        case .oz: "\(ounces(ml))oz"
        }
    }

    /// A deficit with a space before the unit, rounded as in reminders: `350 ml`, `0.35 l`, `12 oz`.
    func spacedDeficit(_ ml: Int) -> String { self == .oz ? "\(ounces(ml)) oz" : text(Amounts.roundToNearest50(ml)) }

    /// A number with a comma every three digits: `1,250`.
    private static func grouped(_ value: Int) -> String {
        guard value.magnitude >= 1000 else { return "\(value)" }
        return grouped(value / 1000) + "," + padded(Int((value % 1000).magnitude), 3)
    }

    private func ounces(_ ml: Int) -> Int { Int((Double(max(0, ml)) / Ounces.mlPerOunce).rounded()) }
}
