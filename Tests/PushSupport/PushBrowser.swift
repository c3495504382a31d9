import Cryptography
import Foundation
import Support

/// A browser that is pushed to, as far as keys go: what a real push service would bring it, it decrypts (RFC 8291, the
/// receiving side, from the RFC's own steps).
package struct PushBrowser: Sendable {
    /// What the browser tells of itself, in base64url.
    package let publicKey: String
    package let secret: String
    /// The same as bytes.
    package let point: [UInt8]
    package let auth: [UInt8]
    private let key: P256Key

    package init(key: [UInt8]? = nil, auth: [UInt8]? = nil) throws {
        guard let key = try key.map(P256Key.init(raw:)) ?? P256Key() else {
            throw Unreadable(why: "the browser's key is none")
        }
        self.key = key
        self.auth = auth ?? (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        point = key.publicKey
        (publicKey, secret) = (Self.text(point), Self.text(self.auth))
    }

    /// What a message says.
    package func opened(_ message: [UInt8]) throws -> [UInt8] {
        guard message.count > 86, message[20] == 65 else {
            throw Unreadable(why: "this is no aes128gcm with a key: \(message.count) bytes")
        }
        let (salt, theirs, rest) = (Array(message[0..<16]), Array(message[21..<86]), Array(message[86...]))
        guard message[16..<20].elementsEqual([0, 0, 16, 0]) else {
            throw Unreadable(why: "a record is said to have \(message[16..<20]) bytes")
        }
        let shared = try key.sharedSecret(with: theirs)
        // HMAC by HMAC, as section 3.4 writes it.
        func hmac(_ key: [UInt8], _ text: [UInt8]) -> [UInt8] { HMAC.code(of: text, key: key) }
        let first = hmac(auth, shared)
        let material = hmac(first, Array("WebPush: info".utf8) + [0] + point + theirs + [1])
        let second = hmac(salt, material)
        let contentKey = hmac(second, Array("Content-Encoding: aes128gcm".utf8) + [0, 1]).prefix(16)
        let nonce = hmac(second, Array("Content-Encoding: nonce".utf8) + [0, 1]).prefix(12)
        let padded = try Sealing.aesGCM.open(rest, key: Array(contentKey), nonce: Array(nonce))
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else {
            throw Unreadable(why: "the last record does not end with 2")
        }
        return Array(padded[..<end])
    }

    /// What was pushed, as an object of JSON.
    package func json(_ seen: WebPeer.Seen) throws -> [String: Any] {
        guard let object = try JSONSerialization.jsonObject(with: Data(try opened(seen.bytes))) as? [String: Any] else {
            throw Unreadable(why: "no object")
        }
        return object
    }

    /// Whether a request shows that its sender has the key that the browser was given (RFC 8292), and the claims that
    /// it makes.
    package static func claims(_ authorization: String, key: String) throws -> [String: Any]? {
        guard let match = authorization.wholeMatch(of: /vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)/),
            match.4 == key, let point = bytes(key), let signature = bytes(String(match.3))
        else { return nil }
        guard try P256Key.isSignature(signature, of: Array("\(match.1).\(match.2)".utf8), by: point) else { return nil }
        return try bytes(String(match.2)).flatMap { try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any] }
    }

    package static func bytes(_ text: String) -> [UInt8]? {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)).map(
            Array.init)
    }

    package static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let why: String
        var description: String { "the message cannot be read: \(why)" }
    }
}
