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
        try self.init(checked: (0..<Self.size).map { _ in .random(in: .min ... .max, using: &generator) })
    }

    /// Creates the key from its 32 bytes; `nil` for another length.
    package init?(raw: [UInt8]) throws(CryptographyError) {
        guard raw.count == Self.size else { return nil }
        try self.init(checked: raw)
    }

    private init(checked raw: [UInt8]) throws(CryptographyError) {
        LibCrypto.prepare()
        self.raw = raw
        publicKey = try Self.withKey(raw) { ownKey throws(CryptographyError) in
            var (bytes, count) = ([UInt8](repeating: 0, count: Self.size), Self.size)
            guard EVP_PKEY_get_raw_public_key(ownKey, &bytes, &count) == 1, count == bytes.count else {
                throw LibCrypto.error(.failed, "cannot derive the X25519 public key")
            }
            return bytes
        }
    }

    /// The secret that this key shares with the peer's public key, 32 bytes.
    /// - Throws: an error of kind `invalidInput` for a public key of wrong length or small order (RFC 7748, 6.1).
    package func sharedSecret(with peer: [UInt8]) throws(CryptographyError) -> [UInt8] {
        LibCrypto.prepare()
        guard peer.count == Self.size else {
            throw CryptographyError(
                .invalidInput, "the X25519 public key must have \(Self.size) bytes, but has \(peer.count)")
        }
        guard let peerKey = EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, peer, peer.count) else {
            throw LibCrypto.error(.failed, "X25519 is not available")
        }
        defer { EVP_PKEY_free(peerKey) }
        return try Self.withKey(raw) { ownKey throws(CryptographyError) in
            guard let context = EVP_PKEY_CTX_new(ownKey, nil) else {
                throw LibCrypto.error(.failed, "cannot start the key agreement")
            }
            defer { EVP_PKEY_CTX_free(context) }
            guard EVP_PKEY_derive_init(context) == 1 else {
                throw LibCrypto.error(.failed, "cannot start the key agreement")
            }
            var (secret, count) = ([UInt8](repeating: 0, count: Self.size), Self.size)
            // libcrypto rejects a shared secret of zeros.
            guard EVP_PKEY_derive_set_peer(context, peerKey) == 1,
                EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
            else {
                throw LibCrypto.error(.invalidInput, "the peer's X25519 public key is invalid")
            }
            return secret
        }
    }

    private static func withKey(
        _ raw: [UInt8], _ body: (OpaquePointer) throws(CryptographyError) -> [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        guard let ownKey = EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, raw, raw.count) else {
            throw LibCrypto.error(.failed, "X25519 is not available")
        }
        defer { EVP_PKEY_free(ownKey) }
        return try body(ownKey)
    }
}
