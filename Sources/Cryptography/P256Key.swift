import CCrypto

/// A key on the curve P-256 (FIPS 186-4; secp256r1): for an agreement, and for signatures as ES256 (RFC 7518, section
/// 3.4).
public struct P256Key: Hashable, Sendable {
    /// The number alone, 32 bytes: what is secret.
    public let raw: [UInt8]
    /// The point that belongs to it, uncompressed (SEC 1): 4, then 64 bytes.
    public let publicKey: [UInt8]

    /// One that nobody can guess.
    public init() throws(CipherFailure) {
        // That the first is none has a chance of 1 in 2³².
        var raw = RandomBytes.of(32)
        while !Self.isNumber(raw) { raw = RandomBytes.of(32) }
        try self.init(checked: raw)
    }

    /// `nil` for anything but 32 bytes of a number from 1 to the curve's order.
    public init?(raw: [UInt8]) throws(CipherFailure) {
        guard Self.isNumber(raw) else { return nil }
        try self.init(checked: raw)
    }

    private init(checked raw: [UInt8]) throws(CipherFailure) {
        CryptoLibrary.begin()
        self.raw = raw
        publicKey = try Self.with(raw) { own throws(CipherFailure) in
            var (point, count) = ([UInt8](repeating: 0, count: Self.pointSize), 0)
            guard EVP_PKEY_get_octet_string_param(own, "pub", &point, point.count, &count) == 1,
                count == point.count, point[0] == 4
            else {
                throw CryptoLibrary.failure(.failed, "A key of P-256 has no public half")
            }
            return point
        }
    }

    /// What both sides can work out, and nobody else: 32 bytes.
    /// - Parameter peer: the other side's point, uncompressed.
    /// - Throws: `CipherFailure` of kind `refused` where it is no point of the curve.
    public func sharedSecret(with peer: [UInt8]) throws(CipherFailure) -> [UInt8] {
        CryptoLibrary.begin()
        return try Self.with(point: peer) { theirs throws(CipherFailure) in
            try Self.with(raw) { own throws(CipherFailure) in try CryptoLibrary.agreed(own, theirs) }
        }
    }

    /// Of the message's SHA-256, as ES256 has it: 64 bytes, another with each call.
    public func signature(of message: [UInt8]) throws(CipherFailure) -> [UInt8] {
        CryptoLibrary.begin()
        return try Self.with(raw) { own throws(CipherFailure) in
            var (coded, count) = ([UInt8](repeating: 0, count: ECDSASignature.longest), ECDSASignature.longest)
            guard let context = EVP_MD_CTX_new() else {
                throw CryptoLibrary.failure(.failed, "Nothing can be signed")
            }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestSignInit_ex(context, nil, "SHA256", nil, nil, own, nil) == 1,
                EVP_DigestSign(context, &coded, &count, message, message.count) == 1,
                let signature = ECDSASignature(der: Array(coded.prefix(count)))
            else { throw CryptoLibrary.failure(.failed, "Nothing can be signed") }
            return signature.raw
        }
    }

    /// Whether it is a signature of that message by the key that belongs to that point.
    /// - Throws: `CipherFailure` of kind `refused` where that is no point of the curve.
    public static func isSignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8])
        throws(CipherFailure) -> Bool
    {
        CryptoLibrary.begin()
        return try with(point: publicKey) { theirs throws(CipherFailure) in
            guard let coded = ECDSASignature(raw: signature)?.der else { return false }
            guard let context = EVP_MD_CTX_new() else {
                throw CryptoLibrary.failure(.failed, "No signature can be looked at")
            }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, theirs, nil) == 1 else {
                throw CryptoLibrary.failure(.failed, "No signature can be looked at")
            }
            let fits = EVP_DigestVerify(context, coded, coded.count, message, message.count) == 1
            ERR_clear_error()
            return fits
        }
    }

    // MARK: - Keys as the library takes them

    private static let pointSize = 65
    private static let order: [UInt8] = [
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6,
        0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ]
    /// ECPrivateKey (RFC 5915) without its point, which the library works out: up to the number, and behind it.
    private static let privateHead: [UInt8] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20]
    private static let privateTail: [UInt8] = [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    /// SubjectPublicKeyInfo (RFC 5480), up to the point.
    private static let publicHead: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
        0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    private static func isNumber(_ raw: [UInt8]) -> Bool {
        raw.count == order.count && raw.contains { $0 != 0 } && raw.lexicographicallyPrecedes(order)
    }

    private static func with<Result>(
        _ raw: [UInt8], _ body: (OpaquePointer) throws(CipherFailure) -> Result
    ) throws(CipherFailure) -> Result {
        let coded = privateHead + raw + privateTail
        let own = coded.withUnsafeBufferPointer { bytes in
            var place = bytes.baseAddress
            return d2i_PrivateKey(EVP_PKEY_EC, nil, &place, bytes.count)
        }
        guard let own else { throw CryptoLibrary.failure(.failed, "P-256 is not to be had") }
        defer { EVP_PKEY_free(own) }
        return try body(own)
    }

    private static func with<Result>(
        point: [UInt8], _ body: (OpaquePointer) throws(CipherFailure) -> Result
    ) throws(CipherFailure) -> Result {
        guard point.count == pointSize, point[0] == 4 else {
            throw CipherFailure(.refused, "The other side's key is no uncompressed point of P-256")
        }
        let coded = publicHead + point
        let theirs = coded.withUnsafeBufferPointer { bytes in
            var place = bytes.baseAddress
            return d2i_PUBKEY(nil, &place, bytes.count)
        }
        guard let theirs else { throw CryptoLibrary.failure(.refused, "The other side's key is no point of P-256") }
        defer { EVP_PKEY_free(theirs) }
        return try body(theirs)
    }
}
