import CCrypto

/// An error of an encryption, a decryption or a key agreement.
package struct CryptographyError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable {
        /// A key or a nonce has the wrong length.
        case wrongLength
        /// Bytes of the peer are invalid: changed, truncated, encrypted with another key, or not a public key.
        case invalidInput
        /// libcrypto failed, for example for lack of memory.
        case failed
    }

    package let kind: Kind
    /// One sentence for the user, without a full stop.
    package let description: String

    init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}

/// State and errors of OpenSSL's libcrypto, which may be called from any thread.
enum LibCrypto {
    /// Without this option, libcrypto frees its tables at exit while other threads still use them.
    private static let initialization: Void = { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }()

    /// Initializes the library and clears the error queue of this thread. Call it before other functions.
    static func prepare() {
        _ = initialization
        ERR_clear_error()
    }

    /// An error with libcrypto's reason, if there is one on this thread. Clears the error queue.
    static func error(_ kind: CryptographyError.Kind, _ description: String) -> CryptographyError {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = ERR_reason_error_string(code).map { ": \(String(cString: $0))" } ?? ""
        return CryptographyError(kind, description + reason)
    }
}
