import Replay
import Testing

/// The default limits. `CaptureOpenerTests` checks the behaviour with smaller ones.
@Suite struct ArchiveLimitsTests {
    @Test func `archive limits are as specified`() {
        let limits = ArchiveLimits()
        #expect(
            limits.bytes == 4 << 30,
            "4 GiB: a log of days, read in chunks; beyond it somebody wants the time and the disk")
        #expect(limits.ratio == 200, "200 to 1: logs pack far less, and deflate ends at 1032 to 1, where bombs are")
        #expect(limits.freeBytes == 256 << 20, "256 MiB: below that a log of the same packet over and over is no bomb")
        #expect(limits.members == 50_000, "50,000 files: an Android bug report has some thousands")
        #expect(limits.captures == 64, "64 captures: each keeps a file open, and a process may have 1024")
        #expect(limits.nesting == 2, "2: a packed log in a bug report")
        #expect(limits.time == .seconds(120), "two minutes: 4 GiB at 36 MB/s")
    }
}
