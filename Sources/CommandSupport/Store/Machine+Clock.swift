import CLinux
import DBus

extension Machine {
    /// Whether a time server keeps this computer's clock right; `nil` if the system does not say.
    ///
    /// The sandbox of the packaged unit (`ProtectClock`) does not let the service ask the kernel. Then
    /// `org.freedesktop.timedate1` is asked, which starts on demand.
    /// - Parameter bus: the bus to ask, for at most 2 s.
    package static func isClockSynchronised(bus: DBusConnection.Bus = .system) async -> Bool? {
        // A demonstration plays another time, which runs evenly.
        if leadOfPlay != nil { return true }
        var state = timex()
        guard adjtimex(&state) < 0 else {
            // The kernel knows its own time only, not one that a library puts in its place.
            let isOwnTime = abs(Int64(state.time.tv_sec) - now().wholeSeconds) < 5
            return isOwnTime ? state.status & STA_UNSYNC == 0 : nil
        }
        return await isSynchronisedByTimedate(bus)
    }

    /// The property `NTPSynchronized` of `org.freedesktop.timedate1`; `nil` without a bus or an answer.
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
