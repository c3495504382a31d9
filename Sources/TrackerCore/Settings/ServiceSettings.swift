/// The settings `sync.…`, `http.…`, `mqtt.…`, `ntfy.…` and `webhook.…` (tracker spec Section 11). The configuration
/// file, the environment and options take precedence.
package struct ServiceSettings: Hashable, Sendable {
    /// The http or https address of the sync server; `nil` for none.
    package internal(set) var syncURL: String?
    /// The credential of the sync server, which is never displayed.
    package internal(set) var syncToken: String?
    package internal(set) var syncTokenFile: String?
    /// The address and port of the page; port 0 selects a free one.
    package internal(set) var httpListen = "127.0.0.1:8077"
    /// The public address of the page, usually that of a proxy.
    package internal(set) var publicURL: String?
    package internal(set) var mqttURL: String?
    package internal(set) var mqttPrefix = "hydration"
    package internal(set) var mqttCommands = false
    package internal(set) var mqttUser: String?
    /// The password at the broker, which is never displayed.
    package internal(set) var mqttPassword: String?
    package internal(set) var mqttPasswordFile: String?
    /// The PEM file with the CA certificate of the broker.
    package internal(set) var mqttCAFile: String?
    /// The PEM file with the client certificate.
    package internal(set) var mqttCertificateFile: String?
    /// The PEM file with the client key.
    package internal(set) var mqttKeyFile: String?
    package internal(set) var mqttDiscovery = true
    package internal(set) var mqttDiscoveryPrefix = "homeassistant"
    package internal(set) var ntfy = ChannelSettings()
    package internal(set) var webhook = ChannelSettings()

    package init() {}
}
