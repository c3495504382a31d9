/// A single complete type of the D-Bus type system, as its signature (D-Bus specification, "Type System").
package struct DBusType: Hashable, Sendable {
    /// The D-Bus signature: `as`, `a{sv}`, `(iu)`.
    package let signature: String

    init(_ signature: some StringProtocol) { self.signature = String(signature) }

    package static let byte = DBusType("y")
    package static let boolean = DBusType("b")
    package static let int16 = DBusType("n")
    package static let uint16 = DBusType("q")
    package static let int32 = DBusType("i")
    package static let uint32 = DBusType("u")
    package static let int64 = DBusType("x")
    package static let uint64 = DBusType("t")
    package static let double = DBusType("d")
    package static let string = DBusType("s")
    package static let objectPath = DBusType("o")
    package static let signature = DBusType("g")
    package static let fileDescriptor = DBusType("h")
    package static let variant = DBusType("v")

    package static func array(_ element: DBusType) -> DBusType { DBusType("a" + element.signature) }

    /// `a{kv}`. The key is a basic type.
    package static func dictionary(_ key: DBusType, _ value: DBusType) -> DBusType {
        DBusType("a{\(key.signature)\(value.signature)}")
    }

    package static func structure(_ members: [DBusType]) -> DBusType {
        DBusType("(" + members.map(\.signature).joined() + ")")
    }

    /// Whether the type can be a dictionary key.
    var isBasic: Bool { signature.utf8.count == 1 && self != .variant }
}
