import Foundation
import TrackerService

/// How a broker is reached that keeps something of ours: kept beside what it keeps, so that it can be taken back when
/// the settings name another one, or none.
struct BrokerAccess: Hashable, Codable {
    private var url: String
    private var user: String?
    private var password: String?
    private var passwordFile: String?
    private var caFile: String?
    private var certificateFile: String?
    private var keyFile: String?

    /// - Parameter keepsPassword: the store has it anyway. One that stands in a file of the person's is not brought
    ///   into the store.
    init(_ plan: MQTTPlan, keepsPassword: Bool) {
        (url, user) = ("\(plan.address)", plan.user)
        (password, passwordFile) = (keepsPassword ? plan.password : nil, plan.passwordFile)
        (caFile, certificateFile, keyFile) = (plan.caFile, plan.certificateFile, plan.keyFile)
    }

    /// As it was kept; `nil` where it is none.
    init?(_ text: String) {
        guard let known = try? JSONDecoder().decode(BrokerAccess.self, from: Data(text.utf8)),
            (try? MQTTAddress(known.url)) != nil
        else { return nil }
        self = known
    }

    var text: String { get throws { try TrackerDesk.json(self) } }

    var address: MQTTAddress? { try? MQTTAddress(url) }

    /// How to speak there as this client, for now and without a word that stays.
    func options(id: String) throws -> MQTTOptions {
        var options = MQTTOptions(address: try MQTTAddress(url), clientID: MQTTPlan.client(id))
        (options.user, options.password) = (user, try password ?? passwordFile.map(MQTTPlan.firstLine))
        (options.authorities, options.certificate, options.key) = (caFile, certificateFile, keyFile)
        return options
    }
}
