import CCrypto
import Glibc

/// OpenSSL's libcrypto, opened when it is first needed and then kept. Each function here may be called from any thread.
struct CryptoLibrary: @unchecked Sendable {
    static let name = "libcrypto.so.3"

    let functions: waterh_crypto

    /// - Throws: `CipherFailure` of kind `libraryMissing`.
    static func open() throws(CipherFailure) -> CryptoLibrary {
        let library = try opened.get()
        // What others left on this thread is none of ours: libcurl uses the same library.
        library.functions.ERR_clear_error()
        return library
    }

    // The functions' addresses never change: they may be read from anywhere.
    private static let opened: Result<CryptoLibrary, CipherFailure> = load(name)

    static func load(_ name: String) -> Result<CryptoLibrary, CipherFailure> {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let why = dlerror().map { String(cString: $0) } ?? "no reason given"
            return .failure(
                CipherFailure(
                    .libraryMissing,
                    """
                    The library that encrypts, \(name), is not installed (Debian's package libssl3, on Debian 13 \
                    libssl3t64): \(why)
                    """
                ))
        }
        var functions = waterh_crypto()
        if let missing = waterh_crypto_load(library, &functions) {
            return .failure(
                CipherFailure(
                    .libraryMissing,
                    "The library that encrypts, \(name), has no \(String(cString: missing)): it is too old"))
        }
        // It would otherwise put itself away at the program's end, under threads that still use it.
        guard functions.OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1 else {
            return .failure(CipherFailure(.libraryMissing, "The library that encrypts, \(name), does not start"))
        }
        return .success(CryptoLibrary(functions: functions))
    }

    /// Of what has just gone wrong on this thread, with the library's reason, which it forgets then.
    func failure(_ kind: CipherFailure.Kind, _ sentence: String) -> CipherFailure {
        let code = functions.ERR_get_error()
        functions.ERR_clear_error()
        return CipherFailure(
            kind, sentence + (functions.ERR_reason_error_string(code).map { ": \(String(cString: $0))" } ?? ""))
    }

    /// What two keys have in common, 32 bytes.
    func agreed(_ own: OpaquePointer, _ peer: OpaquePointer) throws(CipherFailure) -> [UInt8] {
        var (secret, count) = ([UInt8](repeating: 0, count: 32), 32)
        guard let context = functions.EVP_PKEY_CTX_new(own, nil) else {
            throw failure(.failed, "No key can be agreed on")
        }
        defer { functions.EVP_PKEY_CTX_free(context) }
        guard functions.EVP_PKEY_derive_init(context) == 1 else { throw failure(.failed, "No key can be agreed on") }
        // It refuses a secret of zeros itself.
        guard functions.EVP_PKEY_derive_set_peer(context, peer) == 1,
            functions.EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
        else {
            throw failure(.refused, "With the other side's key none can be agreed on")
        }
        return secret
    }
}
