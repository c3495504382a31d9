/// How much may come out of what somebody hands over: beyond it unpacking ends in words.
package struct ArchiveLimits: Sendable {
    /// Bytes in all, over everything inside.
    package var bytes: Int
    /// So many bytes may come of each packed one, once more than `freeBytes` came.
    package var ratio: Int
    /// Bytes that stay free where it is unpacked to.
    package var freeBytes: Int
    /// Files inside, archives within archives counted.
    package var members: Int
    /// Captures that are read; each is kept open.
    package var captures: Int
    /// Archives in one another: 1 for a plain one.
    package var nesting: Int
    /// How long unpacking may take.
    package var time: Duration

    package init(
        bytes: Int = 4 << 30, ratio: Int = 200, freeBytes: Int = 256 << 20, members: Int = 50_000, captures: Int = 64,
        nesting: Int = 2,
        time: Duration = .seconds(120)
    ) {
        (self.bytes, self.ratio, self.freeBytes) = (bytes, ratio, freeBytes)
        (self.members, self.captures, self.nesting, self.time) = (members, captures, nesting, time)
    }
}
