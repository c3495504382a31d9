/// HMAC with SHA-256 (RFC 2104): shows who has the key that a message is the one that was meant.
public enum HMAC {
    /// 32 bytes.
    /// - Parameter key: of any length; 32 bytes are as good as more.
    public static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        let short = key.count > SHA256.blockSize ? SHA256.digest(key) : key
        let block = short + [UInt8](repeating: 0, count: SHA256.blockSize - short.count)
        return SHA256.digest(block.map { $0 ^ 0x5c } + SHA256.digest(block.map { $0 ^ 0x36 } + message))
    }
}
