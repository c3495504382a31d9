import Crypto
import Foundation
import Outgoing
import Store
import TrackerCore

/// By what push services know who sends: one key a store (VAPID, RFC 8292). A browser's subscription is good for that key alone.
public struct PushSender: Hashable, Sendable {
    private let key: [UInt8]

    init?(key: [UInt8]) {
        guard (try? P256.Signing.PrivateKey(rawRepresentation: key)) != nil else { return nil }
        self.key = key
    }

    /// The store's; made when it is first asked for.
    public static func of(_ store: TrackerStore) throws -> PushSender {
        guard let sender = PushSender(key: try store.pushKey { Array(P256.Signing.PrivateKey().rawRepresentation) }) else {
            throw Refusal("pushKey", "The key in this store by which push services know it is none: nothing can be pushed.", category: .damaged)
        }
        return sender
    }

    /// What a browser is given when it subscribes: an uncompressed point of P-256 in base64url.
    public var publicKey: String { (try? signing).map { Base64URL.text($0.publicKey.x963Representation) } ?? "" }

    private var signing: P256.Signing.PrivateKey { get throws { try P256.Signing.PrivateKey(rawRepresentation: key) } }

    /// For how long a token is good, seconds; 24 hours at most (section 2).
    private static let lifetime: Double = 12 * 3600

    /// What stands in `Authorization` for one push service.
    /// - Parameter contact: whom its people may write to; `nil`: nobody.
    func authorization(to endpoint: String, contact: String?, now: Instant) throws -> String {
        struct Header: Encodable { var alg = "ES256", typ = "JWT" }
        struct Claims: Encodable {
            var aud: String
            var exp: Int
            var sub: String?
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let claims = Claims(aud: OutgoingURL.place(endpoint), exp: Int(Double(now.milliseconds) / 1000 + Self.lifetime), sub: contact)
        let signed = "\(Base64URL.text(try encoder.encode(Header()))).\(Base64URL.text(try encoder.encode(claims)))"
        let signature = try signing.signature(for: Data(signed.utf8)).rawRepresentation
        return "vapid t=\(signed).\(Base64URL.text(signature)), k=\(publicKey)"
    }
}
