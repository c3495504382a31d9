import Foundation
import Utilities

/// The signature of a webhook request (standardwebhooks.com): HMAC-SHA256 over id, time and body.
struct WebhookSignature: Hashable, Sendable {
    private static let prefix = "whsec_"
    private let key: [UInt8]

    /// - Parameter secret: `whsec_` and base64; other text is used as it is. `nil` for invalid base64.
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

    /// The value of `webhook-signature`.
    func text(id: String, timestamp: Int, body: [UInt8]) -> String {
        let code = HMAC.authenticationCode(of: Array("\(id).\(timestamp).".utf8) + body, key: key)
        return "v1,\(Data(code).base64EncodedString())"
    }

    /// The message id, which is equal in each attempt. It is a hash and does not reveal the key.
    static func id(of key: String) -> String { "msg_" + SHA256.hex(key.utf8).prefix(32) }
}
