import CommandKit
import Foundation
import TrackerCore

/// The machine that a command runs on: its clock, its zone, its environment. Read here and nowhere else.
public enum Machine {
    public static func now() -> Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// The zone of the machine's wall clock; UTC, with a warning, where it has no IANA name.
    public static func zone() -> Zone {
        let id = HostZone.id()
        if let zone = try? Zone(id) { return zone }
        Diagnostics.warning("The system's time zone \"\(id)\" has no IANA name; UTC is used. Name one with --zone or the setting day.zone.")
        return .utc
    }

    /// An environment variable that is set and not empty.
    public static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 } }
}
