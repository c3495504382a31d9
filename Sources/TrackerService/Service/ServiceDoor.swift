import TrackerCore

/// What the pages may ask of the service that polls the bottles.
package struct ServiceDoor: Sendable {
    /// How a person's day is looked at: what is seen is to be fresh.
    package enum Look: Sendable {
        /// Somebody follows what happens.
        case begins
        /// And does not any more.
        case ends
        /// Somebody looks once.
        case once
    }

    /// How the polling stands.
    package var status: @Sendable () async -> ServiceStatus
    /// Polls as soon as may be.
    package var pollNow: @Sendable () async -> Void
    /// Newest first.
    package var recentPolls: @Sendable () async -> [PollLine]
    /// Sends one command in the words of the command line; answers with the bottle's answer in words.
    package var send: @Sendable ([String]) async throws -> String
    /// Scans for bottles as soon as no poll is running; returns the bottles in range.
    package var scan: @Sendable () async throws -> [BottleInRange] = { throw ServiceDoor.cannotScan }
    /// Reads the log of a bottle in range and stores nothing.
    package var lookInside: @Sendable (_ address: String) async throws -> BottleContents = { _ in
        throw ServiceDoor.cannotScan
    }
    /// The service does not use Bluetooth.
    package static let cannotScan = Refusal("noScan", "This service cannot scan for bottles.")
    /// Hears that somebody looks at the day.
    package var look: @Sendable (Look) async -> Void

    package init(
        status: @escaping @Sendable () async -> ServiceStatus, pollNow: @escaping @Sendable () async -> Void,
        recentPolls: @escaping @Sendable () async -> [PollLine],
        send: @escaping @Sendable ([String]) async throws -> String,
        look: @escaping @Sendable (Look) async -> Void = { _ in }
    ) {
        self.status = status
        self.pollNow = pollNow
        self.recentPolls = recentPolls
        self.send = send
        self.look = look
    }
}
