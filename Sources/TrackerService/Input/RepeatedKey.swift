import Foundation

/// A key that stands twice in a JSON object. Which of its values is meant nobody knows (RFC 8259, 4): readers differ,
/// and a proxy may have looked at the other one.
package enum RepeatedKey {
    /// The first key of the outermost object that stands there again, however it is written.
    /// - Parameter json: one whole JSON object; of anything else nothing is said.
    package static func first(in json: some Sequence<UInt8>) -> String? {
        var (depth, isObject, isInText, isEscaped, isKey) = (0, false, false, false, false)
        var text: [UInt8] = []
        var seen: Set<String> = []
        for byte in json {
            if isInText {
                if isKey { text.append(byte) }
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                    guard isKey else { continue }
                    isKey = false
                    let key = words(text)
                    guard seen.insert(key).inserted else { return key }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInText = true
                text = isKey ? [byte] : []
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth == 1 { isObject = byte == UInt8(ascii: "{") }
                isKey = depth == 1 && isObject
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","): isKey = depth == 1 && isObject
            default: break
            }
        }
        return nil
    }

    /// What a text in quotes says: `\u0061` is an a.
    private static func words(_ quoted: [UInt8]) -> String {
        guard quoted.contains(UInt8(ascii: "\\")) else {
            return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
        }
        return (try? JSONDecoder().decode(String.self, from: Data(quoted))) ?? String(decoding: quoted, as: UTF8.self)
    }
}
