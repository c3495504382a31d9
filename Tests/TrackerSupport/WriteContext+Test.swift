import Foundation
package import TrackerCore

extension WriteContext {
    /// A write of a test, with random identifiers.
    package static func test(at now: Instant, zone: Zone = .utc, source: String = "cli") -> WriteContext {
        WriteContext(now: now, zone: zone, source: source, makeID: { UUID().uuidString.lowercased() })
    }
}

extension Instant {
    /// The time of this machine.
    package static var current: Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}
