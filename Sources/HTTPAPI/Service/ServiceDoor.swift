/// What the pages may ask of the service that polls the bottles.
public struct ServiceDoor: Sendable {
    public var status: @Sendable () async -> ServiceStatus
    /// Polls as soon as may be.
    public var pollNow: @Sendable () async -> Void
    /// Newest first.
    public var recentPolls: @Sendable () async -> [PollLine]
    /// Sends one command in the words of the command line; answers with the bottle's answer in words.
    public var send: @Sendable ([String]) async throws -> String

    public init(
        status: @escaping @Sendable () async -> ServiceStatus, pollNow: @escaping @Sendable () async -> Void,
        recentPolls: @escaping @Sendable () async -> [PollLine], send: @escaping @Sendable ([String]) async throws -> String
    ) {
        self.status = status
        self.pollNow = pollNow
        self.recentPolls = recentPolls
        self.send = send
    }
}
