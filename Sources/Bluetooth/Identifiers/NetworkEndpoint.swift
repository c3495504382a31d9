/// A host and a TCP port: `localhost:7300`, `[::1]:7300`.
package struct NetworkEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// A host name, or an IP address without brackets.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

    /// Parses `HOST:PORT`; `nil` if the text is not valid.
    /// - Parameter defaultPort: the default port; `nil` if the text must have one.
    package init?(_ text: String, defaultPort: UInt16? = nil) {
        var (host, port) = (Substring(text), defaultPort)
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" else { return nil }
            if !rest.isEmpty { port = Self.number(rest.dropFirst()) }
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            guard !host.contains(":") else { return nil }
            port = Self.number(text[text.index(after: colon)...])
        }
        guard let port, !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        self.init(host: String(host), port: port)
    }

    /// A stable address for a controller that reports none, as Bumble's does: the FNV-1a hash of this text. So the
    /// emulated bottle keeps its identity.
    var address: BluetoothAddress {
        BluetoothAddress(
            description.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 18)
    }

    private static func number(_ text: Substring) -> UInt16? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(text), number > 0
        else { return nil }
        return number
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
