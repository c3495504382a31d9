/// A pattern for written values, such as `a5 ?? 01 *`: `??` matches any byte, and `*` at the end matches any rest.
package struct BytePattern: Hashable, Sendable {
    private var bytes: [UInt8?]
    private var matchesRest: Bool

    /// Returns `nil` if the text is not a pattern.
    package init?(_ text: String) {
        var digits = text.utf8.filter { $0 != UInt8(ascii: " ") }
        matchesRest = digits.last == UInt8(ascii: "*")
        if matchesRest { digits.removeLast() }
        guard digits.count % 2 == 0 else { return nil }
        bytes = []
        let any = UInt8(ascii: "?")
        for index in stride(from: 0, to: digits.count, by: 2) {
            if digits[index] == any, digits[index + 1] == any {
                bytes.append(nil)
            } else if let high = Octets.nibble(digits[index]), let low = Octets.nibble(digits[index + 1]) {
                bytes.append(high << 4 | low)
            } else {
                return nil
            }
        }
    }

    package func matches(_ value: [UInt8]) -> Bool {
        guard matchesRest ? value.count >= bytes.count : value.count == bytes.count else { return false }
        return zip(bytes, value).allSatisfy { expected, found in expected == nil || expected == found }
    }
}

extension BytePattern: TextCodable {
    package static let syntax = "a pattern is hex digits, ?? for any byte, and * at its end for any rest"

    package var description: String {
        bytes.map { $0.map { Octets([$0]).description } ?? "??" }.joined() + (matchesRest ? "*" : "")
    }
}
