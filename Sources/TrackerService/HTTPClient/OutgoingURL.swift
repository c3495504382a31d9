/// What can be said of an address without asking anybody.
package enum OutgoingURL {
    /// Scheme, host and port: what stands behind them may be a secret, and so may what stands before the host.
    package static func place(_ url: String) -> String {
        guard let colon = url.firstRange(of: "://") else { return url }
        let host = authority(url, behind: colon)
        return String(url[..<colon.upperBound])
            + (host.lastIndex(of: "@").map { host[host.index(after: $0)...] } ?? host)
    }

    /// The host alone, as a request names it; `nil` where there is none.
    package static func host(_ url: String) -> String? {
        guard let colon = url.firstRange(of: "://") else { return nil }
        var host = place(url).dropFirst(url.distance(from: url.startIndex, to: colon.upperBound))
        if host.hasPrefix("[") { return host.lastIndex(of: "]").map { String(host[...$0]) } }
        if let port = host.lastIndex(of: ":") { host = host[..<port] }
        return host.isEmpty ? nil : String(host)
    }

    private static func authority(_ url: String, behind scheme: Range<String.Index>) -> Substring {
        url[scheme.upperBound...].prefix { !"/?#".contains($0) }
    }
}
