import CCrypto

/// Authenticated encryption with ChaCha20-Poly1305 (RFC 8439).
package enum ChaChaPoly {
    /// Size of a key in bytes.
    package static let keySize = 32
    /// Size of a nonce in bytes. A nonce must not be used twice with one key.
    package static let nonceSize = 12
    /// Size of the authentication tag at the end of the ciphertext, in bytes.
    package static let tagSize = 16

    /// The ciphertext, followed by its tag.
    /// - Parameter extra: additional data that is authenticated and not encrypted.
    package static func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating extra: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        try withContext(key, nonce, encrypts: true) { context throws(CryptographyError) in
            guard var sealed = update(context, plaintext, extra), finish(context) else {
                throw LibCrypto.error(.failed, "cannot encrypt")
            }
            var tag = [UInt8](repeating: 0, count: tagSize)
            guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tag.count), &tag) == 1 else {
                throw LibCrypto.error(.failed, "cannot encrypt")
            }
            sealed += tag
            return sealed
        }
    }

    /// The plaintext of a ciphertext that is followed by its tag.
    /// - Throws: an error of kind `invalidInput` if the tag does not match key, nonce, ciphertext and additional data.
    package static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating extra: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        try withContext(key, nonce, encrypts: false) { context throws(CryptographyError) in
            guard sealed.count >= tagSize else { throw CryptographyError(.invalidInput, "the ciphertext is truncated") }
            var tag = Array(sealed.suffix(tagSize))
            guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1,
                let plaintext = update(context, Array(sealed.dropLast(tagSize)), extra)
            else {
                throw LibCrypto.error(.failed, "cannot decrypt")
            }
            // libcrypto compares the tag in constant time.
            guard finish(context) else {
                throw LibCrypto.error(.invalidInput, "the ciphertext was changed, or encrypted with another key")
            }
            return plaintext
        }
    }

    private static func withContext(
        _ key: [UInt8], _ nonce: [UInt8], encrypts: Bool,
        _ body: (OpaquePointer) throws(CryptographyError) -> [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        LibCrypto.prepare()
        guard key.count == keySize else {
            throw CryptographyError(.wrongLength, "the key must have \(keySize) bytes, but has \(key.count)")
        }
        guard nonce.count == nonceSize else {
            throw CryptographyError(.wrongLength, "the nonce must have \(nonceSize) bytes, but has \(nonce.count)")
        }
        guard let context = EVP_CIPHER_CTX_new() else { throw LibCrypto.error(.failed, "cannot create a cipher") }
        // Freeing the context also erases the key.
        defer { EVP_CIPHER_CTX_free(context) }
        guard EVP_CipherInit_ex2(context, EVP_chacha20_poly1305(), key, nonce, encrypts ? 1 : 0, nil) == 1 else {
            throw LibCrypto.error(.failed, "ChaCha20-Poly1305 is not available")
        }
        return try body(context)
    }

    private static func update(_ context: OpaquePointer, _ bytes: [UInt8], _ extra: [UInt8]) -> [UInt8]? {
        // Sizes are 32-bit integers in libcrypto.
        guard let count = CInt(exactly: bytes.count), let extraCount = CInt(exactly: extra.count) else { return nil }
        var (output, written): ([UInt8], CInt) = ([UInt8](repeating: 0, count: bytes.count), 0)
        if !extra.isEmpty, EVP_CipherUpdate(context, nil, &written, extra, extraCount) != 1 { return nil }
        if !bytes.isEmpty, EVP_CipherUpdate(context, &output, &written, bytes, count) != 1 || written != count {
            return nil
        }
        return output
    }

    /// Computes or verifies the tag. A stream cipher writes no further bytes here.
    private static func finish(_ context: OpaquePointer) -> Bool {
        var (rest, written): ([UInt8], CInt) = ([UInt8](repeating: 0, count: 16), 0)
        return EVP_CipherFinal_ex(context, &rest, &written) == 1 && written == 0
    }
}
