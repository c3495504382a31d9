/// An ntfy topic and its server.
package struct NtfyTopic: Hashable, Sendable {
    /// The address for publishing JSON; ends with a slash.
    package let server: String
    /// The topic. Anyone who knows the name can read the topic.
    package let topic: String

    /// Parses an address; `nil` if it has no topic: 1 to 64 letters, digits, `-` and `_` after its last slash.
    package init?(_ url: String) {
        guard Settings.isURL(url, ["http", "https"]), !url.contains(where: { "?#".contains($0) }) else { return nil }
        var url = url
        if url.hasSuffix("/") { url.removeLast() }
        guard let scheme = url.firstRange(of: "://"), let slash = url.lastIndex(of: "/"), slash > scheme.upperBound
        else { return nil }
        let topic = url[url.index(after: slash)...]
        guard (1...64).contains(topic.utf8.count), topic.utf8.allSatisfy(Self.isLetter) else { return nil }
        (server, self.topic) = (String(url[...slash]), String(topic))
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }
}
