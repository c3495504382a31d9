import Crypto
import Foundation
import Support

/// A browser that is pushed to, as far as keys go: what a real push service would bring it, it decrypts (RFC 8291, the receiving side, from the RFC's own steps).
package struct PushBrowser: Sendable {
    /// What the browser tells of itself, in base64url.
    package let publicKey: String
    package let secret: String
    /// The same as bytes.
    package let point: [UInt8]
    package let auth: [UInt8]
    private let key: P256.KeyAgreement.PrivateKey

    package init(key: [UInt8]? = nil, auth: [UInt8]? = nil) throws {
        self.key = try key.map { try P256.KeyAgreement.PrivateKey(rawRepresentation: $0) } ?? P256.KeyAgreement.PrivateKey()
        self.auth = auth ?? (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        point = Array(self.key.publicKey.x963Representation)
        (publicKey, secret) = (Self.text(point), Self.text(self.auth))
    }

    /// What a message says.
    package func opened(_ message: [UInt8]) throws -> [UInt8] {
        guard message.count > 86, message[20] == 65 else { throw Unreadable(why: "this is no aes128gcm with a key: \(message.count) bytes") }
        let (salt, theirs, rest) = (Array(message[0..<16]), Array(message[21..<86]), Array(message[86...]))
        guard message[16..<20].elementsEqual([0, 0, 16, 0]) else { throw Unreadable(why: "a record is said to have \(message[16..<20]) bytes") }
        let shared = try key.sharedSecretFromKeyAgreement(with: P256.KeyAgreement.PublicKey(x963Representation: theirs))
        // HMAC by HMAC, as section 3.4 writes it.
        func hmac(_ key: [UInt8], _ text: [UInt8]) -> [UInt8] { Array(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: key))) }
        let first = hmac(auth, shared.withUnsafeBytes { Array($0) })
        let material = hmac(first, Array("WebPush: info".utf8) + [0] + point + theirs + [1])
        let second = hmac(salt, material)
        let contentKey = hmac(second, Array("Content-Encoding: aes128gcm".utf8) + [0, 1]).prefix(16)
        let nonce = hmac(second, Array("Content-Encoding: nonce".utf8) + [0, 1]).prefix(12)
        let box = try AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: nonce), ciphertext: rest.dropLast(16), tag: rest.suffix(16))
        let padded = try AES.GCM.open(box, using: SymmetricKey(data: contentKey))
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else { throw Unreadable(why: "the last record does not end with 2") }
        return Array(padded[padded.startIndex..<end])
    }

    /// What was pushed, as an object of JSON.
    package func json(_ seen: WebPeer.Seen) throws -> [String: Any] {
        guard let object = try JSONSerialization.jsonObject(with: Data(try opened(seen.bytes))) as? [String: Any] else { throw Unreadable(why: "no object") }
        return object
    }

    /// Whether a request shows that its sender has the key that the browser was given (RFC 8292), and the claims that it makes.
    package static func claims(_ authorization: String, key: String) throws -> [String: Any]? {
        guard let match = authorization.wholeMatch(of: /vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)/), match.4 == key, let point = bytes(key), let signature = bytes(String(match.3)) else { return nil }
        let signing = try P256.Signing.PublicKey(x963Representation: point)
        guard signing.isValidSignature(try P256.Signing.ECDSASignature(rawRepresentation: signature), for: Data("\(match.1).\(match.2)".utf8)) else { return nil }
        return try bytes(String(match.2)).flatMap { try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any] }
    }

    package static func bytes(_ text: String) -> [UInt8]? {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)).map(Array.init)
    }

    package static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let why: String
        var description: String { "the message cannot be read: \(why)" }
    }
}
