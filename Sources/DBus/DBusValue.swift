/// A value of any D-Bus type (D-Bus specification, "Type System").
package indirect enum DBusValue: Hashable, Sendable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    case signature(String)
    case fileDescriptor(OwnedDescriptor)
    case variant(DBusValue)
    /// A byte array, `ay`, without an element for each byte.
    case bytes([UInt8])
    /// The signature of the elements' type, and the elements.
    case array(String, [DBusValue])
    /// The signatures of the key and value types, and the entries in the order of the message. If a key is repeated,
    /// the last entry counts.
    case dictionary(String, String, [Entry])
    case structure([DBusValue])

    package struct Entry: Hashable, Sendable {
        package var key: DBusValue
        package var value: DBusValue
        package init(_ key: DBusValue, _ value: DBusValue) {
            self.key = key
            self.value = value
        }
    }

    /// The signature of the type: `as`, `a{sv}`, `(iu)`.
    package var type: String {
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
        case .bytes: "ay"
        case .array(let element, _): "a\(element)"
        case .dictionary(let key, let value, _): "a{\(key)\(value)}"
        case .structure(let members): "(\(members.map(\.type).joined()))"
        }
    }

    /// `a{sv}` from names and values, sorted by name so that equal dictionaries give equal messages.
    package static func properties(_ values: [String: DBusValue]) -> DBusValue {
        .dictionary("s", "v", values.sorted { $0.key < $1.key }.map { Entry(.string($0.key), .variant($0.value)) })
    }

    /// An array of strings, `as`.
    package static func strings(_ values: [String]) -> DBusValue { .array("s", values.map { .string($0) }) }
}

/// Typed access to a received value: `nil` if it has another type. Variants around it are removed.
extension DBusValue {
    /// The value without variants around it.
    package var unwrapped: DBusValue {
        if case .variant(let inner) = self { inner.unwrapped } else { self }
    }

    package var bool: Bool? { if case .boolean(let value) = unwrapped { value } else { nil } }
    package var byteArray: [UInt8]? { if case .bytes(let value) = unwrapped { value } else { nil } }
    /// A file descriptor, owned by the returned object.
    package var descriptor: OwnedDescriptor? { if case .fileDescriptor(let value) = unwrapped { value } else { nil } }

    /// A string, an object path or a signature.
    package var text: String? {
        switch unwrapped {
        case .string(let value), .objectPath(let value), .signature(let value): value
        default: nil
        }
    }

    /// An integer of any type, if it fits into `Int`.
    package var integer: Int? {
        switch unwrapped {
        case .byte(let value): Int(value)
        case .int16(let value): Int(value)
        case .uint16(let value): Int(value)
        case .int32(let value): Int(value)
        case .uint32(let value): Int(value)
        case .int64(let value): Int(exactly: value)
        case .uint64(let value): Int(exactly: value)
        default: nil
        }
    }

    package var elements: [DBusValue]? {
        switch unwrapped {
        case .array(_, let values), .structure(let values): values
        case .bytes(let bytes): bytes.map { .byte($0) }
        default: nil
        }
    }

    /// The strings of an array; other members are skipped.
    package var strings: [String]? { elements?.compactMap(\.text) }

    /// A dictionary with string keys. Variants around its values are removed.
    package var dictionary: [String: DBusValue]? {
        guard case .dictionary(_, _, let entries) = unwrapped else { return nil }
        var result: [String: DBusValue] = [:]
        for entry in entries {
            guard let name = entry.key.text else { return nil }
            result[name] = entry.value.unwrapped
        }
        return result
    }
}
