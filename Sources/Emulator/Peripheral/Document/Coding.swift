package import Bluetooth

// The JSON form of Bluetooth types in a peripheral profile.

/// A value whose JSON form is its description, a string.
package protocol TextCodable: Codable, LosslessStringConvertible {
    /// The description of valid texts for error messages.
    static var syntax: String { get }
}

extension TextCodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.syntax)
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension BluetoothUUID: TextCodable {
    package static let syntax = "a UUID has 4, 8 or 32 hex digits"
}

extension BluetoothAddress: TextCodable {
    package static let syntax = "an address is six bytes in hex with colons"
}

extension CharacteristicProperties: Codable {
    private static let names: [(CharacteristicProperties, String)] = [
        (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write-without-response"),
        (.write, "write"), (.notify, "notify"),
        (.indicate, "indicate"), (.signedWrite, "signed-write"), (.extended, "extended"),
    ]

    /// Decodes a list of names: `["read", "notify"]`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = []
        for word in try container.decode([String].self) {
            guard let known = Self.names.first(where: { $0.1 == word }) else {
                throw DecodingError.dataCorruptedError(
                    in: container,
                    debugDescription:
                        "'\(word.prefix(40))' is not a property: \(Self.names.map(\.1).joined(separator: ", "))"
                )
            }
            insert(known.0)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Self.names.filter { contains($0.0) }.map(\.1))
    }
}

// Reports the key of a number that is out of range. Foundation would report only a corrupted document.
extension KeyedDecodingContainer {
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try convert(decode(Int.self, forKey: key), key)
    }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try decodeIfPresent(Int.self, forKey: key).map { try convert($0, key) }
    }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try decodeIfPresent(Int.self, forKey: key).map { try convert($0, key) }
    }

    private func convert<Number: FixedWidthInteger>(_ number: Int, _ key: Key) throws -> Number {
        guard let fitting = Number(exactly: number) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "\(number) is out of range: expected 0–\(Number.max)")
        }
        return fitting
    }
}
