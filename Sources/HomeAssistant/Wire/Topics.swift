/// The names under which a person's day is published (tracker law Section 10.5).
public struct Topics: Hashable, Sendable {
    /// What all of them begin with.
    public let prefix: String

    /// Under that prefix.
    public init(prefix: String) { self.prefix = prefix }

    /// How the day stands; retained.
    public var state: String { "\(prefix)/state" }
    /// How the session stands; retained.
    public var waterline: String { "\(prefix)/waterline" }
    /// Notifications, once each.
    public var notify: String { "\(prefix)/notify" }
    /// Every drink, once each.
    public var sip: String { "\(prefix)/sip" }
    /// `online` or `offline`; retained, and the last will.
    public var availability: String { "\(prefix)/availability" }
    /// The service's own word that it comes or goes; not retained.
    public var bridgeState: String { "\(prefix)/bridge/state" }
    /// What the service is; retained.
    public var bridgeInfo: String { "\(prefix)/bridge/info" }
    /// How the service is, now and then; not retained.
    public var bridgeHealth: String { "\(prefix)/bridge/health" }
    /// Where a bottle's state is told.
    public func bottle(_ id: String) -> String { "\(prefix)/bottle/\(id)" }

    /// Where a command is taken.
    public func command(_ name: String) -> String { "\(prefix)/cmd/\(name)" }
    /// Where a command is answered.
    public func response(_ name: String) -> String { "\(prefix)/response/\(name)" }
    /// All commands.
    public var everyCommand: String { "\(prefix)/cmd/#" }

    /// The command that a message at this topic is; `nil` for any other topic. A command has one level.
    public func commandName(of topic: String) -> String? {
        let beginning = "\(prefix)/cmd/"
        guard topic.hasPrefix(beginning) else { return nil }
        let name = topic.dropFirst(beginning.count)
        guard (1...40).contains(name.utf8.count),
            name.utf8.allSatisfy({ (97...122).contains($0) || $0 == UInt8(ascii: "-") })
        else { return nil }
        return String(name)
    }
}
