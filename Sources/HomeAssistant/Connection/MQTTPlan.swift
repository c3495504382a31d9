import Store
package import TrackerCore

/// The connection to a broker as the settings `mqtt.…` define it (tracker spec Section 11).
package struct MQTTPlan: Hashable, Sendable, CustomStringConvertible {
    package var address: MQTTAddress
    package var topics: Topics
    package var acceptsCommands: Bool
    /// The discovery prefix of Home Assistant; `nil` if discovery is off.
    package var discovery: String?
    package var user: String?
    package var password: String?
    /// The paths of PEM files.
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?

    /// Returns `nil` if no broker is set.
    /// - Throws: `WrongInput` with the reason.
    package init?(_ settings: ServiceSettings) throws {
        guard let url = settings.mqttURL else { return nil }
        address = try MQTTAddress(url)
        topics = Topics(prefix: settings.mqttPrefix)
        acceptsCommands = settings.mqttCommands
        discovery = settings.mqttDiscovery ? settings.mqttDiscoveryPrefix : nil
        user = settings.mqttUser
        password = try settings.mqttPassword ?? settings.mqttPasswordFile.map(Self.password)
        (caFile, certificateFile, keyFile) = (settings.mqttCAFile, settings.mqttCertificateFile, settings.mqttKeyFile)
        if password != nil, user == nil {
            throw WrongInput("mqttUserMissing", "mqtt.password is set without mqtt.user: set mqtt.user.")
        }
        if !address.isEncrypted, caFile != nil || certificateFile != nil || keyFile != nil {
            throw WrongInput(
                "mqttNotEncrypted",
                "Certificates are set, but \(address) is not encrypted: mqtt.url must begin with mqtts://.")
        }
    }

    static func client(_ id: String) -> String { "waterh-\(id)" }

    func options(id: String) -> MQTTOptions {
        var options = MQTTOptions(address: address, clientID: Self.client(id))
        (options.user, options.password) = (user, password)
        (options.authorities, options.certificate, options.key) = (caFile, certificateFile, keyFile)
        options.will = MQTTMessage(topics.availability, "offline", isRetained: true)
        return options
    }

    /// The plan without the password.
    package var description: String {
        let details = [
            user.map { "as \($0)\(password == nil ? "" : " with a password")" }, caFile.map { "authorities \($0)" },
            certificateFile.map { "certificate \($0)" },
            keyFile.map { "key \($0)" }, acceptsCommands ? "commands" : nil, discovery.map { "discovery at \($0)" },
        ]
        return (["\(address) at \(topics.prefix)"] + details.compactMap(\.self)).joined(separator: ", ")
    }

    private static func password(inFile path: String) throws -> String {
        func invalid(_ sentence: String) -> WrongInput { WrongInput("mqttPasswordFile", sentence) }
        guard (try? SmallFile.read(path, limit: 1))?.isEmpty != true else {
            throw invalid("The file \(path) (mqtt.passwordFile) is empty: write the password in its first line.")
        }
        return try SmallFile.secret(
            path, setting: "mqtt.passwordFile", kind: "password", accepts: Settings.isPassword, failure: invalid)
    }
}
