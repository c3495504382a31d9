import Cryptography
import Foundation
import Outgoing
import Store
import TrackerCore

/// By what push services know who sends: one key a store (VAPID, RFC 8292). A browser's subscription is good for that
/// key alone.
public struct PushSender: Hashable, Sendable {
    private let key: P256Key

    /// The store's; made when it is first asked for.
    /// - Throws: `Refusal` where its key is none, or the library that signs is not installed; and what the store
    ///   throws.
    public static func of(_ store: TrackerStore) throws -> PushSender {
        let raw: [UInt8], key: P256Key?
        do {
            raw = try store.pushKey { try P256Key().raw }
            key = try P256Key(raw: raw)
        } catch let failure as CipherFailure {
            throw Refusal("pushLibrary", "Nothing can be pushed. \(failure).", category: .failed)
        }
        guard let key else {
            throw Refusal(
                "pushKey", "The key in this store by which push services know it is none: nothing can be pushed.",
                category: .damaged)
        }
        return PushSender(key: key)
    }

    /// What a browser is given when it subscribes: an uncompressed point of P-256 in base64url.
    public var publicKey: String { Base64URL.text(key.publicKey) }

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
        let claims = Claims(
            aud: OutgoingURL.place(endpoint), exp: Int(Double(now.milliseconds) / 1000 + Self.lifetime), sub: contact)
        let signed = "\(Base64URL.text(try encoder.encode(Header()))).\(Base64URL.text(try encoder.encode(claims)))"
        return "vapid t=\(signed).\(Base64URL.text(try key.signature(of: Array(signed.utf8)))), k=\(publicKey)"
    }
}
