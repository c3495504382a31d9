import CCrypto

/// An error of an encryption, a decryption or a key agreement.
package struct CryptographyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence for the user, without a full stop.
    package let description: String

    /// Also clears the error queue of this thread, which TLS connections read.
    init(_ description: String) {
        ERR_clear_error()
        self.description = description
    }
}

/// The state of OpenSSL's libcrypto, which may be called from any thread.
enum LibCrypto {
    private static let initialization: Void = { _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }()

    /// Initializes the library before its first use. Without the option, libcrypto frees its tables at exit while other
    /// threads still use them.
    static func prepare() { _ = initialization }
}
