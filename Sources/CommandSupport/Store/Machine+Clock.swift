import CLinux
package import DBus
import Glibc
import TrackerCore

extension Machine {
    /// Whether a time server synchronises this computer's clock; `nil` if unknown.
    ///
    /// The sandbox of the packaged unit (`ProtectClock`) forbids the query of the kernel. Then this function queries
    /// `org.freedesktop.timedate1`.
    /// - Parameter bus: the D-Bus of the query, which takes at most 2 s.
    package static func isClockSynchronised(bus: DBusConnection.Bus = .system) async -> Bool? {
        // The clock of a demonstration does not jump.
        if accelerationLead != nil { return true }
        var state = timex()
        guard adjtimex(&state) < 0 else {
            // Ignore the kernel if a preloaded library substitutes the time: the kernel reports the system time.
            let isOwnTime = abs(Int64(state.time.tv_sec) - now().wholeSeconds) < 5
            return isOwnTime ? state.status & STA_UNSYNC == 0 : nil
        }
        return await isSynchronisedByTimedate(bus)
    }

    /// The property `NTPSynchronized` of `org.freedesktop.timedate1`; `nil` without a bus or a response.
    static func isSynchronisedByTimedate(_ bus: DBusConnection.Bus) async -> Bool? {
        let call = DBusCall(
            "org.freedesktop.timedate1", "/org/freedesktop/timedate1", "org.freedesktop.DBus.Properties", "Get",
            [.string("org.freedesktop.timedate1"), .string("NTPSynchronized")])
        let limit = Duration.seconds(2)
        guard let connection = try? await DBusConnection.open(bus, on: QueueExecutor("timedate"), limit: limit) else {
            return nil
        }
        let answer = try? await connection.call(call, limit: limit)
        await connection.close()
        return answer?.first?.bool
    }
}
