import CCrypto

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    package static let size = 32

    /// The digest of the message, 32 bytes.
    package static func digest(_ message: some Sequence<UInt8>) -> [UInt8] {
        LibCrypto.prepare()
        let message = Array(message)
        var (digest, count) = ([UInt8](repeating: 0, count: size), UInt32(0))
        guard EVP_Digest(message, message.count, &digest, &count, EVP_sha256(), nil) == 1, count == digest.count else {
            fatalError("libcrypto has no SHA-256")
        }
        return digest
    }

    /// The digest of the message as 64 hexadecimal digits.
    package static func hex(_ message: some Sequence<UInt8>) -> String {
        digest(message).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// HMAC with SHA-256 (RFC 2104).
package enum HMAC {
    /// The authentication code of the message, 32 bytes.
    /// - Parameter key: of any length.
    package static func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        LibCrypto.prepare()
        var (code, count) = ([UInt8](repeating: 0, count: SHA256.size), 0)
        let result = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count, &code, code.count, &count)
        guard result != nil, count == code.count else { fatalError("libcrypto has no HMAC-SHA256") }
        return code
    }
}
