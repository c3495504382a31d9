/// A name with letters a-z, digits and `_` only, for MQTT topic levels and Home Assistant ids.
package enum PlainName {
    /// The plain form of a name. Different names can have the same form.
    package static func of(_ text: String) -> String {
        var plain = ""
        for scalar in text.lowercased().unicodeScalars {
            let isPlain = (97...122).contains(scalar.value) || (48...57).contains(scalar.value)
            if isPlain {
                plain.unicodeScalars.append(scalar)
            } else if !plain.hasSuffix("_"), !plain.isEmpty {
                plain.append("_")
            }
        }
        while plain.hasSuffix("_") { plain.removeLast() }
        return plain.isEmpty ? "x" : plain
    }
}
