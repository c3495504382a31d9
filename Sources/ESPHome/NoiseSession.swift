import Utilities

/// The initiator of `Noise_NNpsk0_25519_ChaChaPoly_SHA256`, which encrypts the ESPHome API (The Noise Protocol
/// Framework, revision 34). After one message in each direction, both sides have a key for each direction.
struct NoiseSession {
    private static let name = Array("Noise_NNpsk0_25519_ChaChaPoly_SHA256".utf8)
    private static let prologue = Array("NoiseAPIInit".utf8) + [0, 0]
    static let keySize = 32

    private let ephemeralKey: X25519Key
    private var chainingKey: [UInt8]
    private var handshakeHash: [UInt8]
    private var cipher = Cipher(key: [])
    /// The keys after the handshake. An empty key encrypts nothing.
    private var sending = Cipher(key: [])
    private var receiving = Cipher(key: [])

    private struct Cipher {
        let key: [UInt8]
        var count: UInt64 = 0

        private mutating func nonce() -> [UInt8] {
            defer { count += 1 }
            return [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        }

        mutating func seal(_ plain: [UInt8], _ associatedData: [UInt8]) throws(CryptographyError) -> [UInt8] {
            try ChaChaPoly.seal(plain, key: key, nonce: nonce(), authenticating: associatedData)
        }

        mutating func open(_ sealed: [UInt8], _ associatedData: [UInt8]) throws(CryptographyError) -> [UInt8] {
            try ChaChaPoly.open(sealed, key: key, nonce: nonce(), authenticating: associatedData)
        }
    }

    /// - Parameters:
    ///   - key: the device's key, 32 bytes.
    ///   - ephemeralKey: the client's key for this session only.
    init(key: [UInt8], ephemeralKey: X25519Key) {
        self.ephemeralKey = ephemeralKey
        handshakeHash = SHA256.digest(Self.name)
        chainingKey = handshakeHash
        mixHash(Self.prologue)
        // The token psk (MixKeyAndHash).
        let keys = Self.derive(chainingKey, key, 3)
        chainingKey = keys[0]
        mixHash(keys[1])
        cipher = Cipher(key: keys[2])
    }

    mutating func hello() throws(CryptographyError) -> [UInt8] {
        let publicKey = ephemeralKey.publicKey
        mixHash(publicKey)
        mixKey(publicKey)
        let tag = try cipher.seal([], handshakeHash)
        mixHash(tag)
        return publicKey + tag
    }

    /// Handles the device's handshake message. After that, encryption is possible.
    mutating func finish(_ answer: [UInt8]) throws(CryptographyError) {
        let peerKey = Array(answer.prefix(Self.keySize))
        mixHash(peerKey)
        mixKey(peerKey)
        mixKey(try ephemeralKey.sharedSecret(with: peerKey))
        _ = try cipher.open(Array(answer.dropFirst(Self.keySize)), handshakeHash)
        let keys = Self.derive(chainingKey, [], 2)
        (sending, receiving) = (Cipher(key: keys[0]), Cipher(key: keys[1]))
    }

    mutating func seal(_ plain: [UInt8]) throws(CryptographyError) -> [UInt8] { try sending.seal(plain, []) }

    mutating func open(_ sealed: [UInt8]) throws(CryptographyError) -> [UInt8] { try receiving.open(sealed, []) }

    private mutating func mixHash(_ data: [UInt8]) { handshakeHash = SHA256.digest(handshakeHash + data) }

    private mutating func mixKey(_ input: [UInt8]) {
        let keys = Self.derive(chainingKey, input, 2)
        chainingKey = keys[0]
        cipher = Cipher(key: keys[1])
    }

    /// Noise's HKDF: each output depends on the previous one and its number.
    private static func derive(_ chainingKey: [UInt8], _ input: [UInt8], _ count: UInt8) -> [[UInt8]] {
        let secret = HMAC.authenticationCode(of: input, key: chainingKey)
        var outputs: [[UInt8]] = []
        for number in 1...count {
            outputs.append(HMAC.authenticationCode(of: (outputs.last ?? []) + [number], key: secret))
        }
        return outputs
    }
}
