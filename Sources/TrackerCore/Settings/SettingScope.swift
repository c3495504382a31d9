/// The scope of a setting: the permission to change it over a network or broker (tracker spec Section 10.1).
package enum SettingScope: Sendable, Comparable {
    /// Settings of the day, the user and the bottle.
    case day
    /// Addresses and credentials of other systems, which could receive the user's data.
    case otherSystems
    /// A file or directory of this machine that the service reads.
    case files

    /// The scope by name, ignoring letter case. An unknown name has the scope of its prefix.
    package init(of name: String) {
        let name = name.lowercased()
        if name.hasSuffix("file") || name == "health.inbox" {
            self = .files
        } else if ["mqtt.", "http.", "sync.", "ntfy.", "webhook."].contains(where: name.hasPrefix) {
            self = .otherSystems
        } else {
            self = .day
        }
    }

    /// Whether the value can be a secret: the topic in an ntfy address, or a token in a webhook address. Clients
    /// without permission to change it cannot read it.
    package static func canBeSecretAddress(_ name: String) -> Bool {
        name.lowercased().hasSuffix(".url") && SettingScope(of: name) == .otherSystems
    }

    /// Whether the setting is about Waterline and so hidden on interfaces without Waterline.
    package static func isAboutWaterline(_ name: String) -> Bool {
        let name = name.lowercased()
        return name.hasPrefix("waterline.") || name == "hydration.countsessionwater"
    }
}
