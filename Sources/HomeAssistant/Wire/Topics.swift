/// The names under which a person's day is published (tracker law Section 10.5).
package struct Topics: Hashable, Sendable {
    /// What all of them begin with.
    package let prefix: String

    /// Under that prefix.
    package init(prefix: String) { self.prefix = prefix }

    /// How the day stands; retained.
    package var state: String { "\(prefix)/state" }
    /// How the session stands; retained.
    package var waterline: String { "\(prefix)/waterline" }
    /// Notifications, once each.
    package var notify: String { "\(prefix)/notify" }
    /// Every drink, once each.
    package var sip: String { "\(prefix)/sip" }
    /// `online` or `offline`; retained, and the last will.
    package var availability: String { "\(prefix)/availability" }
    /// The service's own word that it comes or goes; not retained.
    package var bridgeState: String { "\(prefix)/bridge/state" }
    /// What the service is; retained.
    package var bridgeInfo: String { "\(prefix)/bridge/info" }
    /// How the service is, now and then; not retained.
    package var bridgeHealth: String { "\(prefix)/bridge/health" }
    /// Where a bottle's state is told.
    package func bottle(_ id: String) -> String { "\(prefix)/bottle/\(id)" }

    /// Where a command is taken.
    package func command(_ name: String) -> String { "\(prefix)/cmd/\(name)" }
    /// Where a command is answered.
    package func response(_ name: String) -> String { "\(prefix)/response/\(name)" }
    /// All commands.
    package var everyCommand: String { "\(prefix)/cmd/#" }

    /// The command that a message at this topic is; `nil` for any other topic. A command has one level.
    package func commandName(of topic: String) -> String? {
        let beginning = "\(prefix)/cmd/"
        guard topic.hasPrefix(beginning) else { return nil }
        let name = topic.dropFirst(beginning.count)
        guard (1...40).contains(name.utf8.count),
            name.utf8.allSatisfy({ (97...122).contains($0) || $0 == UInt8(ascii: "-") })
        else { return nil }
        return String(name)
    }
}
