/// A decoding error: the field, its offset, the expected and the actual number of bytes.
package struct MalformedPDU: Error, Hashable, Sendable {
    /// The name of the field, such as `handle` or `attribute data list`.
    package var field: String
    /// The offset of the field from the opcode, in bytes.
    package var offset: Int
    /// The minimum number of bytes, or the expected number if a number is out of range.
    package var needed: Int
    /// The available number of bytes, or the actual number if a number is out of range.
    package var found: Int
}

extension MalformedPDU: CustomStringConvertible {
    package var description: String { "\(field) at byte \(offset): needs \(needed), found \(found)" }
}
