/// What a topic may be called (MQTT 3.1.1, 4.7).
package enum TopicName {
    /// A name that can be published at: no wildcards, no NUL.
    package static func isPublishable(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 65_535
            && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
    }

    /// Whether a name is one that a filter asks for: `+` stands for one level, `#` at the end for all that follow.
    package static func matches(_ name: String, _ filter: String) -> Bool {
        var wanted = filter.split(separator: "/", omittingEmptySubsequences: false)[...]
        var given = name.split(separator: "/", omittingEmptySubsequences: false)[...]
        // What the broker says of itself ($SYS) is not meant by a wildcard at the beginning.
        if given.first?.first == "$", wanted.first == "#" || wanted.first == "+" { return false }
        while let level = wanted.popFirst() {
            if level == "#" { return true }
            guard let mine = given.popFirst() else { return false }
            guard level == "+" || level == mine else { return false }
        }
        return given.isEmpty
    }
}
