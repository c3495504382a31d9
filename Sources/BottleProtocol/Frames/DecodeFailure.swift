/// A decoding error: a description, the byte offset, and the needed and found numbers of bytes.
///
/// The caller quarantines malformed bytes with this error and never retries them.
package struct DecodeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error as a clause: `a frame's payload is shorter than its length field says`.
    package var problem: String
    /// The byte offset of the error.
    package var offset: Int
    /// The needed number of bytes, or the expected value if `problem` is about a value.
    package var needed: Int
    /// The found number of bytes, or the found value.
    package var found: Int

    package init(problem: String, offset: Int, needed: Int, found: Int) {
        self.problem = problem
        self.offset = offset
        self.needed = needed
        self.found = found
    }

    /// The problem with its offset and numbers: `a frame is shorter than its header (at byte 2: needed 4, found 2)`.
    package var description: String { "\(problem) (at byte \(offset): needed \(needed), found \(found))" }
}

package func hexText(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
}
