/// A segment of a URL's path.
package enum PathPart {
    /// Decodes percent-encoding; `nil` if the result is not UTF-8, or if a percent sign is not followed by two
    /// hexadecimal digits.
    ///
    /// Works on bytes, because Foundation's `removingPercentEncoding` removes a leading byte order mark (U+FEFF).
    package static func decoded(_ part: some StringProtocol) -> String? {
        var bytes: [UInt8] = [], rest = part.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
