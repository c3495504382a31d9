/// Bytes that are no PDU, and why: what was being read, where it starts, how much it needs and how much there is.
package struct MalformedPDU: Error, Hashable, Sendable {
    /// What was being read, in words: `handle`, `attribute data list`.
    package var what: String
    /// Where it starts, in bytes from the opcode.
    package var offset: Int
    /// How many bytes it needs (at least); for a number out of range, the number that was expected.
    package var needed: Int
    /// How many bytes there are; for a number out of range, the number that was found.
    package var found: Int

    package init(what: String, offset: Int, needed: Int, found: Int) {
        self.what = what
        self.offset = offset
        self.needed = needed
        self.found = found
    }
}

extension MalformedPDU: CustomStringConvertible {
    /// What was read, where, how much it needs and how much there is.
    package var description: String { "\(what) at byte \(offset): needs \(needed), found \(found)" }
}
