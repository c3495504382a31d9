/// Why bytes could not be decoded: what was looked for, where, how much was needed and how much was there.
///
/// Malformed bytes are never retried: the caller quarantines them with this reason and goes on.
package struct DecodeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// One clause for people: `a frame's payload is shorter than its length field says`.
    package var what: String
    /// Byte offset in the decoded bytes at which it went wrong.
    package var offset: Int
    /// Bytes (or, where `what` says so, the value) needed at `offset`.
    package var needed: Int
    /// Bytes (or the value) found there.
    package var found: Int

    package init(what: String, offset: Int, needed: Int, found: Int) {
        self.what = what
        self.offset = offset
        self.needed = needed
        self.found = found
    }

    /// The sentence with its figures: `a frame is shorter than its header (at byte 2: needed 4, found 2)`.
    package var description: String { "\(what) (at byte \(offset): needed \(needed), found \(found))" }
}

/// `1A 02 0F`: how this project writes bytes for people.
func hexText(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
}
