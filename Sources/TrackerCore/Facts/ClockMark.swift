/// One reading of this computer's clock, with what tells later whether the clock has been set since.
///
/// The wall clock may be set to anything at any time. The count since the computer was started goes on evenly through
/// all of that: two marks of one start show by how much the wall clock was set between them.
package struct ClockMark: Hashable, Sendable {
    /// What it showed.
    package var wall: Instant
    /// Which start of the computer `uptime` counts from; `nil` where that is not known.
    package var boot: Int64?
    /// Milliseconds since then, sleep included.
    package var uptime: Int64
    /// Whether a time server kept the clock right, by the kernel's own account; `nil` where nobody says.
    package var isSynchronized: Bool?

    package init(wall: Instant, boot: Int64? = nil, uptime: Int64 = 0, isSynchronized: Bool? = nil) {
        self.wall = wall
        self.boot = boot
        self.uptime = uptime
        self.isSynchronized = isSynchronized
    }
}
