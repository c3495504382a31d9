/// Where the service listens, and to whom it speaks: the settings `sync.…`, `http.…`, `mqtt.…`, `ntfy.…` and
/// `webhook.…` of tracker law Section 11. What the service's file, its environment or a flag says goes
/// before.
public struct ServiceSettings: Hashable, Sendable {
    /// The sync server's address, http or https; `nil`: there is none.
    public internal(set) var syncURL: String?
    /// The credential for `syncURL`: itself, or the file it stands in. Never shown.
    public internal(set) var syncToken: String?
    /// The file that holds the credential instead.
    public internal(set) var syncTokenFile: String?
    /// Address and port of the page; port 0 takes any.
    public internal(set) var httpListen = "127.0.0.1:8077"
    /// Where a phone finds the service from anywhere: a proxy's address, as a rule.
    public internal(set) var publicURL: String?
    /// The broker's address, mqtt or mqtts; `nil`: there is none.
    public internal(set) var mqttURL: String?
    /// What every topic begins with.
    public internal(set) var mqttPrefix = "hydration"
    /// Whether commands are taken from the broker.
    public internal(set) var mqttCommands = false
    /// Who the broker is told that we are. The password is never shown: itself, or the file it stands in.
    public internal(set) var mqttUser: String?
    /// The password itself.
    public internal(set) var mqttPassword: String?
    /// The file that holds it instead.
    public internal(set) var mqttPasswordFile: String?
    /// Files in PEM: whom we believe to be the broker, and what shows it who we are.
    public internal(set) var mqttCAFile: String?
    /// Our certificate.
    public internal(set) var mqttCertificateFile: String?
    /// Its key.
    public internal(set) var mqttKeyFile: String?
    /// Home Assistant is told what there is, under this topic.
    public internal(set) var mqttDiscovery = true
    /// The topic under which Home Assistant looks.
    public internal(set) var mqttDiscoveryPrefix = "homeassistant"
    /// A topic of ntfy's.
    public internal(set) var ntfy = ChannelSettings()
    /// A program that is told what a person is told.
    public internal(set) var webhook = ChannelSettings()

    /// Everything at its default.
    public init() {}
}
