import Foundation
import Synchronization
package import TrackerCore

/// The time, the time zone and the environment of this machine.
package enum Machine {
    /// The current time; in a demonstration, the accelerated time.
    package static func now() -> Instant {
        let real = realNow
        return acceleration.withLock { $0.map { $0.time(at: real) } } ?? real
    }

    /// Accelerates time in this process, for a demonstration, from `start` if given.
    package static func accelerate(at speed: Double, from start: Instant? = nil) {
        let (real, now) = (realNow, now())
        acceleration.withLock { $0 = Acceleration(realStart: real, shownStart: start ?? now, speed: speed) }
    }

    /// The factor of the acceleration; 1 outside a demonstration.
    package static var speed: Double { acceleration.withLock { $0?.speed } ?? 1 }

    /// The milliseconds by which the time of a demonstration is ahead of the system clock; `nil` outside one.
    package static var accelerationLead: Int64? {
        let real = realNow
        return acceleration.withLock { $0.map { $0.time(at: real).milliseconds - real.milliseconds } }
    }

    private struct Acceleration {
        var realStart: Instant
        var shownStart: Instant
        var speed: Double

        func time(at real: Instant) -> Instant { shownStart.advanced(seconds: realStart.seconds(to: real) * speed) }
    }

    private static let acceleration = Mutex<Acceleration?>(nil)

    private static var realNow: Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// The zone of the machine's wall clock.
    /// - Throws: `CommandFailure` if it has no IANA name.
    package static func zone() throws -> Zone {
        let id = HostZone.id()
        do {
            return try Zone(id)
        } catch {
            throw CommandFailure(
                .wrongUse, "unknown time zone of this computer: '\(id)' is not an IANA name",
                advice: "Name one, for example TZ=Europe/Berlin, or use --zone, or set zone in waterh.toml.")
        }
    }

    /// The value of an environment variable. An empty variable counts as unset.
    package static func variable(
        _ name: String, in environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
