/// A single complete type of the D-Bus type system (D-Bus specification, "Type System").
package indirect enum DBusType: Hashable, Sendable {
    case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double
    case string, objectPath, signature, fileDescriptor, variant
    case array(DBusType)
    /// `a{kv}`. The key is a basic type.
    case dictionary(DBusType, DBusType)
    case structure([DBusType])

    /// A text that is not a list of complete types.
    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package let text: String
        /// The index of the first invalid character, from 0.
        package let offset: Int
        package var description: String { "invalid D-Bus signature '\(text)' at character \(offset)" }
    }

    /// The D-Bus signature: `as`, `a{sv}`, `(iu)`.
    package var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .fileDescriptor: "h"
        case .variant: "v"
        case .array(let element): "a" + element.signature
        case .dictionary(let key, let value): "a{\(key.signature)\(value.signature)}"
        case .structure(let members): "(" + members.map(\.signature).joined() + ")"
        }
    }

    /// Whether the type can be a dictionary key.
    var isBasic: Bool {
        switch self {
        case .variant, .array, .dictionary, .structure: false
        default: true
        }
    }

    /// Parses a signature of any number of complete types. Limits: 255 characters, 32 arrays deep, 32 structures deep.
    package static func list(_ signature: String) throws(Malformed) -> [DBusType] {
        var parser = SignatureParser(text: signature)
        var types: [DBusType] = []
        guard parser.codes.count <= 255 else { throw parser.malformed }
        while !parser.isAtEnd { types.append(try parser.type(arrays: 0, structures: 0)) }
        return types
    }
}

private struct SignatureParser {
    let text: String
    let codes: [UInt8]
    var index = 0

    init(text: String) {
        self.text = text
        codes = Array(text.utf8)
    }

    var isAtEnd: Bool { index >= codes.count }
    var malformed: DBusType.Malformed { .init(text: text, offset: index) }

    mutating func take() -> UInt8? {
        guard index < codes.count else { return nil }
        defer { index += 1 }
        return codes[index]
    }

    mutating func type(arrays: Int, structures: Int) throws(DBusType.Malformed) -> DBusType {
        guard arrays <= 32, structures <= 32, let code = take() else { throw malformed }
        switch code {
        case UInt8(ascii: "y"): return .byte
        case UInt8(ascii: "b"): return .boolean
        case UInt8(ascii: "n"): return .int16
        case UInt8(ascii: "q"): return .uint16
        case UInt8(ascii: "i"): return .int32
        case UInt8(ascii: "u"): return .uint32
        case UInt8(ascii: "x"): return .int64
        case UInt8(ascii: "t"): return .uint64
        case UInt8(ascii: "d"): return .double
        case UInt8(ascii: "s"): return .string
        case UInt8(ascii: "o"): return .objectPath
        case UInt8(ascii: "g"): return .signature
        case UInt8(ascii: "h"): return .fileDescriptor
        case UInt8(ascii: "v"): return .variant
        case UInt8(ascii: "a"):
            guard !isAtEnd, codes[index] == UInt8(ascii: "{") else {
                return .array(try type(arrays: arrays + 1, structures: structures))
            }
            index += 1
            let key = try type(arrays: arrays + 1, structures: structures + 1)
            guard key.isBasic else { throw malformed }
            let value = try type(arrays: arrays + 1, structures: structures + 1)
            guard take() == UInt8(ascii: "}") else { throw malformed }
            return .dictionary(key, value)
        case UInt8(ascii: "("):
            var members: [DBusType] = []
            while !isAtEnd, codes[index] != UInt8(ascii: ")") {
                members.append(try type(arrays: arrays, structures: structures + 1))
            }
            guard take() != nil, !members.isEmpty else { throw malformed }
            return .structure(members)
        default:
            index -= 1
            throw malformed
        }
    }
}
