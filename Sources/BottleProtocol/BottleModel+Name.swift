extension BottleModel {
    /// What a name as advertised says about the model (protocol law P1): `WaterH-Boost-24oz` and `WaterH-Bottle-B003` are Boosts,
    /// `WaterH-Bottle-1` is a Vita. `nil`: nothing.
    public init?(advertisedName name: String) {
        let words = name.lowercased().unicodeScalars.split { !($0.properties.isAlphabetic || ("0"..."9").contains($0)) }.map(String.init)
        guard words.first?.hasPrefix("waterh") == true else { return nil }
        if words.contains("boost") {
            self = .boost
        } else if words.contains("vita") {
            self = .vita
        } else if words.count == 3, words[1] == "bottle", words[2] == "1" {
            self = .vita
        } else if words.count == 3, words[1] == "bottle", words[2].hasPrefix("b"), words[2].dropFirst().first?.isNumber == true {
            self = .boost
        } else {
            return nil
        }
    }
}
