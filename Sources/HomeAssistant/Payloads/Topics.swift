/// The topics of a store at a broker (tracker spec Section 10.5).
package struct Topics: Hashable, Sendable {
    package let prefix: String

    package init(prefix: String) { self.prefix = prefix }

    /// The topic of the day's state; retained.
    package var state: String { "\(prefix)/state" }
    /// The topic of the Waterline session; retained.
    package var waterline: String { "\(prefix)/waterline" }
    package var notify: String { "\(prefix)/notify" }
    package var sip: String { "\(prefix)/sip" }
    /// `online` or `offline`; retained, and the last will.
    package var availability: String { "\(prefix)/availability" }
    /// The topic of the start and end of the service.
    package var bridgeState: String { "\(prefix)/bridge/state" }
    /// The topic of the publisher's version, id and commands; retained.
    package var bridgeInfo: String { "\(prefix)/bridge/info" }
    /// The topic of the publisher's counters, sent every ten minutes.
    package var bridgeHealth: String { "\(prefix)/bridge/health" }
    /// The topic of a bottle; retained.
    package func bottle(_ id: String) -> String { "\(prefix)/bottle/\(id)" }

    package func command(_ name: String) -> String { "\(prefix)/cmd/\(name)" }
    package func response(_ name: String) -> String { "\(prefix)/response/\(name)" }
    package var everyCommand: String { "\(prefix)/cmd/#" }

    /// The command's name; `nil` for any other topic.
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
