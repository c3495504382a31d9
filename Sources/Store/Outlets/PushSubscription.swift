import Cryptography
import Foundation
import GRDB
import TrackerCore

/// A browser that a person's notifications are pushed to (Push API; RFC 8030).
public struct PushSubscription: Hashable, Sendable {
    /// Follows from the endpoint, so that the browser can say whether it is this one.
    public var id: String
    /// Where its push service takes messages. Whoever knows it may send there, so it is shown to nobody.
    public var endpoint: String
    /// The browser's public key, an uncompressed point of P-256.
    public var publicKey: [UInt8]
    /// What browser and sender share beside it.
    public var secret: [UInt8]
    /// What its person knows it by.
    public var label: String
    /// When it came first.
    public var since: Instant

    /// One as a browser tells of itself.
    public init(endpoint: String, publicKey: [UInt8], secret: [UInt8], label: String, since: Instant) {
        id = String(SHA256.hex(endpoint.utf8).prefix(16))
        (self.endpoint, self.publicKey, self.secret) = (endpoint, publicKey, secret)
        (self.label, self.since) = (label, since)
    }
}

extension PushSubscription {
    init(row: Row) throws {
        let (key, secret): (Data, Data) = (try row.checked("p256dh"), try row.checked("auth"))
        self.init(
            endpoint: try row.checked("endpoint"), publicKey: Array(key), secret: Array(secret),
            label: try row.checked("label"),
            since: try row.instant("since"))
    }

    /// Under which name its messages are kept.
    public var outlet: String { Self.outlet(id) }

    static func outlet(_ id: String) -> String { "push-\(id)" }
}
