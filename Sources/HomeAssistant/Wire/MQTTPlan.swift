import Foundation
import Store
import TrackerCore

/// What the settings `mqtt.…` ask for (tracker law Section 11).
package struct MQTTPlan: Hashable, Sendable, CustomStringConvertible {
    /// Where the broker is.
    package var address: MQTTAddress
    /// The names under which the day is published.
    package var topics: Topics
    /// Whether commands are taken from there.
    package var obeysCommands: Bool
    /// Where Home Assistant is told what there is; `nil`: nowhere.
    package var discovery: String?
    /// Who we are.
    package var user: String?
    /// The password to that.
    package var password: String?
    /// The file whose first line it is, where it stands in one.
    package var passwordFile: String?
    /// Whom we believe to be the broker: a file in PEM.
    package var caFile: String?
    /// Our certificate: a file in PEM.
    package var certificateFile: String?
    /// Its key: a file in PEM.
    package var keyFile: String?

    /// `nil` where no broker is named.
    /// - Throws: what is wrong with the settings, in a sentence.
    package init?(_ settings: ServiceSettings) throws {
        guard let url = settings.mqttURL else { return nil }
        address = try MQTTAddress(url)
        topics = Topics(prefix: settings.mqttPrefix)
        obeysCommands = settings.mqttCommands
        discovery = settings.mqttDiscovery ? settings.mqttDiscoveryPrefix : nil
        user = settings.mqttUser
        passwordFile = settings.mqttPassword == nil ? settings.mqttPasswordFile : nil
        password = try settings.mqttPassword ?? settings.mqttPasswordFile.map(Self.firstLine)
        (caFile, certificateFile, keyFile) = (settings.mqttCAFile, settings.mqttCertificateFile, settings.mqttKeyFile)
        if password != nil, user == nil {
            throw WrongInput("mqttUserMissing", "A password for the broker is set and no user: set mqtt.user.")
        }
        if !address.isEncrypted, caFile != nil || certificateFile != nil || keyFile != nil {
            throw WrongInput(
                "mqttNotEncrypted",
                "Certificates are set, but \(address) is not encrypted: mqtt.url is to begin with mqtts://.")
        }
    }

    /// Under which name an outlet speaks to brokers.
    static func client(_ id: String) -> String { "waterh-\(id)" }

    /// How the broker is to be spoken to.
    /// - Parameter id: the outlet's.
    func options(id: String) -> MQTTOptions {
        var options = MQTTOptions(address: address, clientID: Self.client(id))
        (options.user, options.password) = (user, password)
        (options.authorities, options.certificate, options.key) = (caFile, certificateFile, keyFile)
        options.will = MQTTMessage(topics.availability, "offline", isRetained: true)
        return options
    }

    /// Without the password.
    package var description: String {
        let more = [
            user.map { "as \($0)\(password == nil ? "" : " with a password")" }, caFile.map { "authorities \($0)" },
            certificateFile.map { "certificate \($0)" },
            keyFile.map { "key \($0)" }, obeysCommands ? "commands" : nil, discovery.map { "discovery at \($0)" },
        ]
        return (["\(address) at \(topics.prefix)"] + more.compactMap(\.self)).joined(separator: ", ")
    }

    static func firstLine(of path: String) throws -> String {
        let data: Data
        do { data = try SmallFile.read(path, limit: 8192) } catch {
            throw WrongInput("mqttPasswordFile", "The file \(path), which mqtt.passwordFile names, \(error.words).")
        }
        guard !data.isEmpty else {
            throw WrongInput(
                "mqttPasswordFile",
                "The file \(path), which mqtt.passwordFile names, is empty: its first line is to be the password.")
        }
        let line = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        guard Settings.isToken(line) else {
            throw WrongInput(
                "mqttPasswordFile", "The first line of \(path), which mqtt.passwordFile names, is no password.")
        }
        return line
    }
}
