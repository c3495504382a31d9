import CCrypto

/// HMAC with SHA-256 (RFC 2104): proves that the sender of a message has the key.
public enum HMAC {
    /// 32 bytes.
    /// - Parameter key: of any length; 32 bytes are as good as more.
    public static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        CryptoLibrary.begin()
        var (code, count) = ([UInt8](repeating: 0, count: SHA256.size), 0)
        guard
            EVP_Q_mac(
                nil, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count, &code, code.count, &count)
                != nil, count == code.count
        else { fatalError("libcrypto has no HMAC-SHA256") }
        return code
    }
}
