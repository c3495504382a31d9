/// Names under which bottles advertise (protocol law P1.2).
package enum BottleName {
    /// Whether somebody of that name is a bottle: the prefix, letters of either case.
    package static func isBottle(_ name: String) -> Bool { name.lowercased().hasPrefix("waterh") }
}

extension BottleModel {
    /// What a name as advertised says about the model (protocol law P1.2): `WaterH-Boost-24oz` and `WaterH-Bottle-B003`
    /// are Boosts, `WaterH-Bottle-1` is a Vita. `nil`: nothing.
    package init?(advertisedName name: String) {
        let words = name.lowercased().unicodeScalars.split { !($0.properties.isAlphabetic || ("0"..."9").contains($0)) }
            .map(String.init)
        guard let first = words.first, BottleName.isBottle(first) else { return nil }
        if words.contains("boost") {
            self = .boost
        } else if words.contains("vita") {
            self = .vita
        } else if words.count == 3, words[1] == "bottle", words[2] == "1" {
            self = .vita
        } else if words.count == 3, words[1] == "bottle", words[2].hasPrefix("b"),
            words[2].dropFirst().first?.isNumber == true
        {
            self = .boost
        } else {
            return nil
        }
    }
}

extension BottleModel {
    /// What a bottle of this model is called when it is bought.
    package var usualName: String {
        switch self {
        case .boost: "WaterH-Boost-24oz"
        case .vita: "WaterH-Bottle-1"
        }
    }

    /// The model's name for people.
    package var title: String {
        switch self {
        case .boost: "Boost"
        case .vita: "Vita"
        }
    }
}
