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
        case .ml: Amounts.millilitres(ml)
        case .l: Amounts.decimal(Double(ml) / 1000) + " l"
        case .oz: Amounts.decimal((Double(ml) / Ounces.mlPerOunce * 10).rounded() / 10) + " oz"
        }
    }

    /// An amount in short form: `1.2L`, `42oz`.
    package func short(_ ml: Int) -> String { self == .oz ? "\(ounces(ml))oz" : Amounts.litres(ml) }

    /// A deficit, rounded as in reminders: `350ml` and from 1000 on `1.2L`, `0.35l`, `12oz`.
    package func deficit(_ ml: Int) -> String {
        switch self {
        case .ml: Amounts.deficit(ml)
        case .l: Amounts.decimal(Double(Amounts.roundToNearest50(ml)) / 1000) + "l"
        case .oz: "\(ounces(ml))oz"
        }
    }

    /// A deficit with a space before the unit, rounded as in reminders: `350 ml`, `0.35 l`, `12 oz`.
    func spacedDeficit(_ ml: Int) -> String { self == .oz ? "\(ounces(ml)) oz" : text(Amounts.roundToNearest50(ml)) }

    private func ounces(_ ml: Int) -> Int { Int((Double(max(0, ml)) / Ounces.mlPerOunce).rounded()) }
}
