import CLinux
import CommandSupport
import Foundation
import TrackerCore

extension Machine {
    /// This computer's clock with all that the kernel knows of it. What is read one after the other belongs together
    /// only where nobody set the clock in between, nor stopped us or put the computer to sleep.
    static func clockMark() -> ClockMark {
        var mark = reading()
        for _ in 0..<5 {
            // Time flies in a demonstration.
            if leadOfPlay != nil || abs(mark.wall.seconds(to: now())) < 0.5 { return mark }
            mark = reading()
        }
        mark.isSynchronized = nil
        return mark
    }

    private static func reading() -> ClockMark {
        let wall = now()
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        let uptime = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        // A demonstration's clock goes as evenly as time passes in it.
        if let leadOfPlay {
            return ClockMark(wall: wall, boot: bootNumber(), uptime: uptime + leadOfPlay, isSynchronized: true)
        }
        return ClockMark(wall: wall, boot: bootNumber(), uptime: uptime, isSynchronized: isSynchronized())
    }

    /// Whether a time server keeps the clock right. The kernel vouches for its own time: who is shown another one (by
    /// `faketime`, say) hears nothing. The unit's sandbox (ProtectClock) refuses the question; systemd's own time
    /// client leaves a file when it has set the clock.
    private static func isSynchronized() -> Bool? {
        var state = timex()
        guard adjtimex(&state) >= 0 else {
            return FileManager.default.fileExists(atPath: "/run/systemd/timesync/synchronized") ? true : nil
        }
        guard abs(Double(state.time.tv_sec) - Date().timeIntervalSince1970) < 5 else { return nil }
        return state.status & STA_UNSYNC == 0
    }

    /// The kernel names each start by 128 random bits; half of them are enough.
    private static func bootNumber() -> Int64? {
        guard let file = FileHandle(forReadingAtPath: "/proc/sys/kernel/random/boot_id"),
            let data = try? file.read(upToCount: 64)
        else { return nil }
        let digits = String(decoding: data, as: UTF8.self).filter(\.isHexDigit).prefix(16)
        return digits.count == 16 ? UInt64(digits, radix: 16).map(Int64.init(bitPattern:)) : nil
    }
}
