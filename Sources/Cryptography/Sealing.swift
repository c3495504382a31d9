import CCrypto

/// Encrypts so that any change is noticed (AEAD). A nonce is good for one message under one key, ever.
public enum Sealing: Hashable, Sendable, CaseIterable {
    /// AES-GCM (NIST SP 800-38D), with a key of 16 or 32 bytes.
    case aesGCM
    /// ChaCha20-Poly1305 (RFC 8439), with a key of 32 bytes.
    case chaChaPoly

    /// So many bytes has a nonce.
    public static let nonceSize = 12
    /// So many bytes is what is sealed longer than what is in it.
    public static let tagSize = 16

    /// What was encrypted, then its tag.
    /// - Parameter extra: goes with it in the clear, and may not be changed either.
    public func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], authenticating extra: [UInt8] = [])
        throws(CipherFailure) -> [UInt8]
    {
        CryptoLibrary.begin()
        return try withContext(key, nonce, seals: true) { context throws(CipherFailure) in
            guard var sealed = update(context, plain, extra), finish(context) else {
                throw CryptoLibrary.failure(.failed, "Nothing can be encrypted")
            }
            var tag = [UInt8](repeating: 0, count: Self.tagSize)
            guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tag.count), &tag) == 1
            else { throw CryptoLibrary.failure(.failed, "Nothing can be encrypted") }
            sealed += tag
            return sealed
        }
    }

    /// What is in it.
    /// - Throws: `CipherFailure` of kind `refused` where anything of it, of the nonce or of what goes with it was
    ///   changed, or the key is another.
    public func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating extra: [UInt8] = [])
        throws(CipherFailure) -> [UInt8]
    {
        CryptoLibrary.begin()
        return try withContext(key, nonce, seals: false) { context throws(CipherFailure) in
            guard sealed.count >= Self.tagSize else { throw CipherFailure(.refused, "What was to be decrypted is cut") }
            var tag = Array(sealed.suffix(Self.tagSize))
            // The library compares the tag at the end, in a time that says nothing of it.
            guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1,
                let plain = update(context, Array(sealed.dropLast(Self.tagSize)), extra)
            else {
                throw CryptoLibrary.failure(.failed, "Nothing can be decrypted")
            }
            guard finish(context) else {
                throw CryptoLibrary.failure(.refused, "What was to be decrypted was changed, or is of another key")
            }
            return plain
        }
    }

    private func withContext(
        _ key: [UInt8], _ nonce: [UInt8], seals: Bool,
        _ body: (OpaquePointer) throws(CipherFailure) -> [UInt8]
    ) throws(CipherFailure) -> [UInt8] {
        let cipher =
            switch (self, key.count) {
            case (.aesGCM, 16): EVP_aes_128_gcm()
            case (.aesGCM, 32): EVP_aes_256_gcm()
            case (.chaChaPoly, 32): EVP_chacha20_poly1305()
            default: throw CipherFailure(.wrongLength, "No key of this cipher has \(key.count) bytes")
            }
        guard nonce.count == Self.nonceSize else {
            throw CipherFailure(.wrongLength, "A nonce has \(Self.nonceSize) bytes, and this one \(nonce.count)")
        }
        guard let context = EVP_CIPHER_CTX_new() else {
            throw CryptoLibrary.failure(.failed, "There is no cipher")
        }
        // Wipes the key, too.
        defer { EVP_CIPHER_CTX_free(context) }
        guard EVP_CipherInit_ex2(context, cipher, key, nonce, seals ? 1 : 0, nil) == 1 else {
            throw CryptoLibrary.failure(.failed, "This cipher is not to be had")
        }
        return try body(context)
    }

    /// `nil`: it does not go.
    private func update(_ context: OpaquePointer, _ bytes: [UInt8], _ extra: [UInt8])
        -> [UInt8]?
    {
        // The library counts in 32 bits.
        guard let count = CInt(exactly: bytes.count), let extraCount = CInt(exactly: extra.count) else { return nil }
        var (done, given): ([UInt8], CInt) = ([UInt8](repeating: 0, count: bytes.count), 0)
        if !extra.isEmpty, EVP_CipherUpdate(context, nil, &given, extra, extraCount) != 1 {
            return nil
        }
        if !bytes.isEmpty,
            EVP_CipherUpdate(context, &done, &given, bytes, count) != 1 || given != count
        {
            return nil
        }
        return done
    }

    /// Of a cipher of this kind nothing comes at the end but a yes or a no.
    private func finish(_ context: OpaquePointer) -> Bool {
        var (rest, given): ([UInt8], CInt) = ([UInt8](repeating: 0, count: 16), 0)
        return EVP_CipherFinal_ex(context, &rest, &given) == 1 && given == 0
    }
}
