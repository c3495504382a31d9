/// Where the service listens, and to whom it speaks: the settings `sync.…`, `http.…` and `mqtt.…` of tracker law Section 11. What the
/// service's file, its environment or a flag says goes before.
public struct ServiceSettings: Hashable, Sendable {
    public internal(set) var syncURL: String?
    /// The credential for `syncURL`: itself, or the file it stands in. Never shown.
    public internal(set) var syncToken: String?
    public internal(set) var syncTokenFile: String?
    public internal(set) var httpListen = "127.0.0.1:8077"
    public internal(set) var mqttURL: String?
    public internal(set) var mqttPrefix = "hydration"
    public internal(set) var mqttCommands = false

    /// Everything at its default.
    public init() {}
}
