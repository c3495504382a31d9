/// How far a setting reaches beyond the day. Who may change it over a network or a broker depends on that (tracker spec
/// Section 10.1).
package enum SettingReach: Sendable, Comparable {
    /// The day, the person, the bottle.
    case day
    /// With whom the service speaks, and with which secret: whoever changes it can send what the person drank, and a
    /// kept secret, elsewhere.
    case others
    /// A file or folder of this machine that the service reads.
    case files

    /// Names are taken in any letters; one that is unknown reaches no further than its beginning says.
    package init(of name: String) {
        let name = name.lowercased()
        if name.hasSuffix("file") || name == "health.inbox" {
            self = .files
        } else if ["mqtt.", "http.", "sync.", "ntfy.", "webhook."].contains(where: name.hasPrefix) {
            self = .others
        } else {
            self = .day
        }
    }

    /// Whether a setting's value may be as good as a secret: the topic of an address is all that protects ntfy's, and a
    /// webhook's address may hold a token. Whoever may not change it does not read it. Names are taken in any letters.
    package static func isSecretPlace(_ name: String) -> Bool {
        name.lowercased().hasSuffix(".url") && SettingReach(of: name) == .others
    }

    /// Whether a setting says something of Waterline, which is shown and changed only where Waterline is. Names are
    /// taken in any letters.
    package static func isOfWaterline(_ name: String) -> Bool {
        let name = name.lowercased()
        return name.hasPrefix("waterline.") || name == "hydration.countsessionwater"
    }
}
