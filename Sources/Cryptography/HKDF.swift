/// HKDF with SHA-256 (RFC 5869): keys from what two sides have in common.
public enum HKDF {
    /// A key, both steps in one: extracted, then expanded.
    /// - Parameters:
    ///   - material: what is secret.
    ///   - salt: need not be; none is as good as 32 zeros.
    ///   - info: what the key is for.
    ///   - count: of its bytes. The standard allows 8160, and nobody needs more than fit here.
    public static func key(from material: [UInt8], salt: [UInt8], info: [UInt8], count: UInt8) -> [UInt8] {
        let secret = HMAC.code(of: material, key: salt)
        var (key, last, number): ([UInt8], [UInt8], UInt8) = ([], [], 1)
        while key.count < count {
            last = HMAC.code(of: last + info + [number], key: secret)
            key += last
            number += 1
        }
        return Array(key.prefix(Int(count)))
    }
}
