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
        try withContext(key, nonce, encrypts: true) { context in
            guard let ciphertext = update(context, plaintext, extra), finish(context) else { return nil }
            var tag = [UInt8](repeating: 0, count: tagSize)
            let result = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tag.count), &tag)
            return result == 1 ? ciphertext + tag : nil
        }
    }

    /// The plaintext of a ciphertext that is followed by its tag.
    /// - Throws: an error if the tag does not match key, nonce, ciphertext and additional data.
    package static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating extra: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        try withContext(key, nonce, encrypts: false) { context in
            var tag = Array(sealed.suffix(tagSize))
            // libcrypto compares the tag in constant time.
            guard tag.count == tagSize,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1,
                let plaintext = update(context, Array(sealed.dropLast(tagSize)), extra), finish(context)
            else { return nil }
            return plaintext
        }
    }

    private static func withContext(
        _ key: [UInt8], _ nonce: [UInt8], encrypts: Bool, _ body: (OpaquePointer) -> [UInt8]?
    ) throws(CryptographyError) -> [UInt8] {
        LibCrypto.prepare()
        // Freeing the context also erases the key.
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        guard key.count == keySize, nonce.count == nonceSize, let context,
            EVP_CipherInit_ex2(context, EVP_chacha20_poly1305(), key, nonce, encrypts ? 1 : 0, nil) == 1,
            let output = body(context)
        else { throw CryptographyError("\(encrypts ? "encryption" : "decryption") with ChaCha20-Poly1305 failed") }
        return output
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
