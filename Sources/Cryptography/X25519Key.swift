import CCrypto

/// A key for an agreement over Curve25519 (RFC 7748).
public struct X25519Key: Sendable {
    /// So many bytes has a key, and what is told of it.
    public static let size = 32
    /// What the other side is told.
    public let publicKey: [UInt8]
    private let raw: [UInt8]

    /// One that nobody can guess.
    public init() throws(CipherFailure) { try self.init(checked: RandomBytes.of(Self.size)) }

    /// `nil` for anything but 32 bytes, each of which is a key.
    public init?(raw: [UInt8]) throws(CipherFailure) {
        guard raw.count == Self.size else { return nil }
        try self.init(checked: raw)
    }

    private init(checked raw: [UInt8]) throws(CipherFailure) {
        CryptoLibrary.begin()
        self.raw = raw
        publicKey = try Self.with(raw) { own throws(CipherFailure) in
            var (bytes, count) = ([UInt8](repeating: 0, count: Self.size), Self.size)
            guard EVP_PKEY_get_raw_public_key(own, &bytes, &count) == 1, count == bytes.count else {
                throw CryptoLibrary.failure(.failed, "A key of X25519 has no public half")
            }
            return bytes
        }
    }

    /// What both sides can work out, and nobody else: 32 bytes.
    /// - Throws: `CipherFailure` of kind `refused` for a key with which the result would be the same whatever ours is
    ///   (RFC 7748, section 6.1).
    public func sharedSecret(with peer: [UInt8]) throws(CipherFailure) -> [UInt8] {
        CryptoLibrary.begin()
        guard peer.count == Self.size else {
            throw CipherFailure(.refused, "A key of X25519 has \(Self.size) bytes, and the other side's \(peer.count)")
        }
        guard let theirs = EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, peer, peer.count) else {
            throw CryptoLibrary.failure(.failed, "X25519 is not to be had")
        }
        defer { EVP_PKEY_free(theirs) }
        return try Self.with(raw) { own throws(CipherFailure) in try CryptoLibrary.agreed(own, theirs) }
    }

    private static func with(
        _ raw: [UInt8], _ body: (OpaquePointer) throws(CipherFailure) -> [UInt8]
    ) throws(CipherFailure) -> [UInt8] {
        guard let own = EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, raw, raw.count) else {
            throw CryptoLibrary.failure(.failed, "X25519 is not to be had")
        }
        defer { EVP_PKEY_free(own) }
        return try body(own)
    }
}
