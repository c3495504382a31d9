/// The limits for unpacking. Unpacking ends with an error at the first exceeded one.
package struct ArchiveLimits: Sendable {
    /// The maximum total of unpacked bytes.
    package var bytes: Int
    /// The maximum ratio of unpacked to packed bytes.
    package var ratio: Int
    /// The number of unpacked bytes up to which `ratio` is not checked.
    package var freeBytes: Int
    /// The maximum number of members, including those of nested archives.
    package var members: Int
    /// The maximum number of captures. Each one stays open.
    package var captures: Int
    /// The maximum nesting depth; 1 for an archive without archives inside.
    package var nesting: Int
    /// The maximum time for unpacking.
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
