/// Which names of this machine a request may call it by, and where a write may come from.
///
/// A page of the internet whose name was pointed at this machine (DNS rebinding) carries its own name in `Host`; a page
/// of another origin that makes a browser write carries it in `Origin`. Addresses in digits cannot be rebound.
struct HostRule: Sendable {
    private let names: Set<String>

    /// - Parameter names: the machine's own and those that the configuration allows, without a port.
    init(names: [String]) {
        self.names = Set(names.map { $0.lowercased() })
    }

    /// - Parameter authority: what `Host` says, with or without a port.
    func allows(_ authority: String) -> Bool {
        guard let host = Self.host(of: authority) else { return false }
        return Self.isDigits(host) || host == "localhost" || host.hasSuffix(".localhost") || names.contains(host)
    }

    /// Whether `origin` (`http://name:8077`) is the very place that the request was sent to.
    static func isSame(origin: String, as authority: String) -> Bool {
        guard let colon = origin.firstRange(of: "://") else { return false }
        let scheme = origin[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { return false }
        let standard = scheme == "https" ? ":443" : ":80"
        func plain(_ text: Substring) -> String {
            let text = text.lowercased()
            return text.hasSuffix(standard) ? String(text.dropLast(standard.count)) : text
        }
        return plain(origin[colon.upperBound...]) == plain(Substring(authority))
    }

    /// Whether a name means this machine itself.
    static func isLoopback(_ authority: String) -> Bool {
        guard let host = host(of: authority) else { return false }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || (isDigits(host) && host.hasPrefix("127."))
    }

    /// The name without its port, in lower case; `nil` for what is no name.
    private static func host(of authority: String) -> String? {
        guard !authority.isEmpty, authority.utf8.count <= 255 else { return nil }
        let text = authority.lowercased()
        let host: Substring
        let port: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[...end]
            port = text[text.index(after: end)...]
        } else {
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            host = text[..<colon]
            port = text[colon...]
        }
        guard port.isEmpty || (port.first == ":" && UInt16(port.dropFirst()) != nil) else { return nil }
        let isAddress = host.hasPrefix("[")
        guard !host.isEmpty, host.utf8.allSatisfy({ isAddress ? Self.isOfAddress($0) : Self.isOfName($0) }) else {
            return nil
        }
        return host.last == "." ? String(host.dropLast()) : String(host)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isOfAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"),
            UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }

    private static func isDigits(_ host: String) -> Bool {
        if host.hasPrefix("[") { return host.hasSuffix("]") && host.contains(":") }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
