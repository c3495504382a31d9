import Cryptography
import Foundation

/// Shows a webhook that a message is from us and what it was (standardwebhooks.com): HMAC-SHA256 over its id, the time
/// and the body.
struct WebhookSignature: Hashable, Sendable {
    private static let prefix = "whsec_"
    private let key: [UInt8]

    /// - Parameter secret: `whsec_` and base64, as the field writes it; anything else counts as it is. `nil` for base64
    ///   that is none.
    init?(secret: String) {
        guard secret.hasPrefix(Self.prefix) else {
            key = Array(secret.utf8)
            return
        }
        guard let data = Data(base64Encoded: String(secret.dropFirst(Self.prefix.count))), !data.isEmpty else {
            return nil
        }
        key = Array(data)
    }

    /// What stands in `webhook-signature`.
    func text(id: String, timestamp: Int, body: [UInt8]) -> String {
        let code = HMAC.code(of: Array("\(id).\(timestamp).".utf8) + body, key: key)
        return "v1,\(Data(code).base64EncodedString())"
    }

    /// The same for the same message however often it is sent, and of no use for anything else.
    static func id(of key: String) -> String { "msg_" + SHA256.hex(key.utf8).prefix(32) }
}
