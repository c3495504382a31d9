import CCrypto

/// What the calls of OpenSSL's libcrypto have in common. Each of them may be called from any thread.
enum CryptoLibrary {
    /// Without this, libcrypto frees its tables at the program's end while other threads still use them.
    private static let start: Void = { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }()

    /// To call before libcrypto's functions: forgets the errors that others left on this thread, as libcurl does.
    static func begin() {
        _ = start
        ERR_clear_error()
    }

    /// The last error on this thread, with libcrypto's reason, which is then cleared.
    static func failure(_ kind: CipherFailure.Kind, _ sentence: String) -> CipherFailure {
        let code = ERR_get_error()
        ERR_clear_error()
        return CipherFailure(
            kind, sentence + (ERR_reason_error_string(code).map { ": \(String(cString: $0))" } ?? ""))
    }

    /// What two keys have in common, 32 bytes.
    static func agreed(_ own: OpaquePointer, _ peer: OpaquePointer) throws(CipherFailure) -> [UInt8] {
        var (secret, count) = ([UInt8](repeating: 0, count: 32), 32)
        guard let context = EVP_PKEY_CTX_new(own, nil) else {
            throw failure(.failed, "No key can be agreed on")
        }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_derive_init(context) == 1 else { throw failure(.failed, "No key can be agreed on") }
        // It refuses a secret of zeros itself.
        guard EVP_PKEY_derive_set_peer(context, peer) == 1,
            EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
        else {
            throw failure(.refused, "With the other side's key none can be agreed on")
        }
        return secret
    }
}
