import Outgoing

/// To which fleet drinks are told, and with which credential.
public struct FleetPlan: Hashable, Sendable, CustomStringConvertible {
    /// `http://…` or `https://…`, what stands before `/v1/entries`.
    public var url: String
    /// Its first line is the credential.
    public var tokenFile: String?

    public init(url: String, tokenFile: String?) { (self.url, self.tokenFile) = (url, tokenFile) }

    /// The fleet's host, without credentials.
    public var description: String { OutgoingURL.place(url) }

    var address: String { (url.hasSuffix("/") ? String(url.dropLast()) : url) + "/v1/entries" }
}
