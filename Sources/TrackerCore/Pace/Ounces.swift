/// Volumes in ounces and millilitres.
public enum Ounces {
    /// Of one US fluid ounce.
    public static let mlPerOunce = 29.5735

    /// Half up: 8 oz are 237 ml.
    public static func millilitres(_ oz: Double) -> Int {
        guard oz.isFinite else { return 0 }
        return Int((min(max(oz, 0), 1e6) * mlPerOunce + 0.5).rounded(.down))
    }
}
