import CCrypto

/// A private key for key agreement over Curve25519 (RFC 7748).
package struct X25519Key: Sendable {
    /// Size of a private key, a public key and a shared secret in bytes.
    package static let size = 32
    /// The public key, 32 bytes.
    package let publicKey: [UInt8]
    private let raw: [UInt8]

    package init() throws(CryptographyError) {
        var generator = SystemRandomNumberGenerator()
        try self.init(raw: (0..<Self.size).map { _ in .random(in: .min ... .max, using: &generator) })
    }

    /// - Parameter raw: the 32 bytes of the private key.
    package init(raw: [UInt8]) throws(CryptographyError) {
        LibCrypto.prepare()
        self.raw = raw
        publicKey = try Self.withKey(raw) { key, bytes, count in EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 }
    }

    /// The secret that this key shares with the peer's public key, 32 bytes.
    /// - Throws: an error for a public key of wrong length or small order (RFC 7748, 6.1).
    package func sharedSecret(with peer: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let peerKey = EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, peer, peer.count)
        defer { EVP_PKEY_free(peerKey) }
        return try Self.withKey(raw) { key, secret, count in
            let context = EVP_PKEY_CTX_new(key, nil)
            defer { EVP_PKEY_CTX_free(context) }
            // libcrypto rejects a shared secret of zeros.
            return peer.count == Self.size && peerKey != nil && EVP_PKEY_derive_init(context) == 1
                && EVP_PKEY_derive_set_peer(context, peerKey) == 1 && EVP_PKEY_derive(context, &secret, &count) == 1
        }
    }

    /// Computes 32 bytes with a private key.
    private static func withKey(
        _ raw: [UInt8], _ compute: (OpaquePointer, inout [UInt8], inout Int) -> Bool
    ) throws(CryptographyError) -> [UInt8] {
        guard let key = EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, raw, raw.count) else {
            throw CryptographyError(
                raw.count == size
                    ? "X25519 is not available" : "an X25519 private key has \(size) bytes, not \(raw.count)")
        }
        defer { EVP_PKEY_free(key) }
        var (output, count) = ([UInt8](repeating: 0, count: size), size)
        guard compute(key, &output, &count), count == size else {
            throw CryptographyError("X25519 key agreement failed")
        }
        return output
    }
}
