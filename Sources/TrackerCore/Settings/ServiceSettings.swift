/// Where the service listens, and to whom it speaks: the settings `sync.…`, `http.…`, `mqtt.…`, `ntfy.…` and
/// `webhook.…` of tracker spec Section 11. What the service's file, its environment or a flag says goes
/// before.
package struct ServiceSettings: Hashable, Sendable {
    /// The sync server's address, http or https; `nil`: there is none.
    package internal(set) var syncURL: String?
    /// The credential for `syncURL`: itself, or the file it stands in. Never shown.
    package internal(set) var syncToken: String?
    /// The file that holds the credential instead.
    package internal(set) var syncTokenFile: String?
    /// Address and port of the page; port 0 takes any.
    package internal(set) var httpListen = "127.0.0.1:8077"
    /// Where a phone finds the service from anywhere: a proxy's address, as a rule.
    package internal(set) var publicURL: String?
    /// The broker's address, mqtt or mqtts; `nil`: there is none.
    package internal(set) var mqttURL: String?
    /// What every topic begins with.
    package internal(set) var mqttPrefix = "hydration"
    /// Whether commands are taken from the broker.
    package internal(set) var mqttCommands = false
    /// Who the broker is told that we are. The password is never shown: itself, or the file it stands in.
    package internal(set) var mqttUser: String?
    /// The password itself.
    package internal(set) var mqttPassword: String?
    /// The file that holds it instead.
    package internal(set) var mqttPasswordFile: String?
    /// Files in PEM: whom we believe to be the broker, and what shows it who we are.
    package internal(set) var mqttCAFile: String?
    /// Our certificate.
    package internal(set) var mqttCertificateFile: String?
    /// Its key.
    package internal(set) var mqttKeyFile: String?
    /// Home Assistant is told what there is, under this topic.
    package internal(set) var mqttDiscovery = true
    /// The topic under which Home Assistant looks.
    package internal(set) var mqttDiscoveryPrefix = "homeassistant"
    /// A topic of ntfy's.
    package internal(set) var ntfy = ChannelSettings()
    /// A program that is told what a person is told.
    package internal(set) var webhook = ChannelSettings()

    /// Everything at its default.
    package init() {}
}
