import Foundation
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

    var address: String { base + "/v1/entries" }

    /// - Parameter boundary: the hour at which the person's days begin.
    func doubts(of person: String?, in store: String, boundary: Int) -> String {
        let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
        let fields = [("store", store), ("boundary", "\(boundary)")] + (person.map { [("person", $0)] } ?? [])
        return base + "/v1/doubts?"
            + fields.map { "\($0.0)=\($0.1.addingPercentEncoding(withAllowedCharacters: plain) ?? "")" }.joined(
                separator: "&")
    }

    private var base: String { url.hasSuffix("/") ? String(url.dropLast()) : url }
}
