/// A reading of the host's clocks. Two readings of one boot show by how much the wall clock was set in between.
package struct ClockMark: Hashable, Sendable {
    package var wall: Instant
    /// Identifies the boot that `uptime` counts from; `nil` if unknown.
    package var boot: Int64?
    /// Milliseconds since the boot, including suspend.
    package var uptime: Int64
    /// Whether the kernel reports the wall clock as synchronised with a time server; `nil` if unknown.
    package var isSynchronized: Bool?

    package init(wall: Instant, boot: Int64? = nil, uptime: Int64 = 0, isSynchronized: Bool? = nil) {
        self.wall = wall
        self.boot = boot
        self.uptime = uptime
        self.isSynchronized = isSynchronized
    }
}
