import CCrypto

/// SHA-256 (FIPS 180-4). Not for secrets that a person chooses.
public enum SHA256 {
    /// Size of a digest in bytes.
    public static let size = 32

    /// 32 bytes.
    public static func digest(_ message: some Sequence<UInt8>) -> [UInt8] {
        CryptoLibrary.begin()
        let message = Array(message)
        var (digest, count) = ([UInt8](repeating: 0, count: size), UInt32(0))
        guard EVP_Digest(message, message.count, &digest, &count, EVP_sha256(), nil) == 1, count == digest.count else {
            fatalError("libcrypto has no SHA-256")
        }
        return digest
    }

    /// The same as 64 hexadecimal digits.
    public static func hex(_ message: some Sequence<UInt8>) -> String {
        digest(message).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
