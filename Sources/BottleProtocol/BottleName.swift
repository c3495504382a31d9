/// The advertised names of bottles (protocol spec P1.2).
package enum BottleName {
    /// Whether the name starts with `waterh`, in any letter case.
    package static func isBottle(_ name: String) -> Bool { name.lowercased().hasPrefix("waterh") }
}

extension BottleModel {
    /// The model that an advertised name indicates (protocol spec P1.2): `WaterH-Boost-24oz` and `WaterH-Bottle-B003`
    /// are Boosts, `WaterH-Bottle-1` is a Vita.
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
    package var factoryName: String {
        switch self {
        case .boost: "WaterH-Boost-24oz"
        case .vita: "WaterH-Bottle-1"
        }
    }

    package var title: String {
        switch self {
        case .boost: "Boost"
        case .vita: "Vita"
        }
    }
}
