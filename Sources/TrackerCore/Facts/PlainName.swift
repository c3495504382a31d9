/// A name as surfaces with narrow rules write it: letters a-z, digits and `_` only, as levels of a topic and ids of
/// Home Assistant are.
package enum PlainName {
    /// Different names may become the same one.
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
