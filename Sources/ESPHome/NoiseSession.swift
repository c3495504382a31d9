import Crypto

/// The initiator's side of `Noise_NNpsk0_25519_ChaChaPoly_SHA256`, by which an ESPHome device encrypts its API (The Noise Protocol Framework, revision 34):
/// one message there, one back, then both sides have a key for each direction.
struct NoiseSession {
    /// What came does not fit the key.
    struct Failure: Error {}

    private static let name = Array("Noise_NNpsk0_25519_ChaChaPoly_SHA256".utf8)
    /// What both sides mix in before the first message.
    private static let prologue = Array("NoiseAPIInit".utf8) + [0, 0]
    static let keySize = 32

    private let own: Curve25519.KeyAgreement.PrivateKey
    private var chaining: [UInt8]
    private var hash: [UInt8]
    private var cipher = Cipher(key: [])
    private var sending: Cipher?
    private var receiving: Cipher?

    /// A key of one direction, and how many messages it has had.
    private struct Cipher {
        let key: [UInt8]
        var count: UInt64 = 0

        private mutating func nonce() throws(Failure) -> ChaChaPoly.Nonce {
            let bytes = [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
            count += 1
            guard let nonce = try? ChaChaPoly.Nonce(data: bytes) else { throw Failure() }
            return nonce
        }

        mutating func seal(_ plain: [UInt8], _ extra: [UInt8]) throws(Failure) -> [UInt8] {
            let nonce = try nonce()
            guard let box = try? ChaChaPoly.seal(plain, using: SymmetricKey(data: key), nonce: nonce, authenticating: extra) else { throw Failure() }
            return Array(box.ciphertext) + Array(box.tag)
        }

        mutating func open(_ sealed: [UInt8], _ extra: [UInt8]) throws(Failure) -> [UInt8] {
            guard sealed.count >= 16 else { throw Failure() }
            let nonce = try nonce()
            guard let box = try? ChaChaPoly.SealedBox(nonce: nonce, ciphertext: sealed.dropLast(16), tag: sealed.suffix(16)),
                let plain = try? ChaChaPoly.open(box, using: SymmetricKey(data: key), authenticating: extra)
            else { throw Failure() }
            return Array(plain)
        }
    }

    /// - Parameters:
    ///   - key: the device's, 32 bytes.
    ///   - own: this session's own; only a test brings one.
    init(key: [UInt8], own: Curve25519.KeyAgreement.PrivateKey = Curve25519.KeyAgreement.PrivateKey()) {
        self.own = own
        hash = Self.digest(Self.name)
        chaining = hash
        mix(Self.prologue)
        // The token psk: MixKeyAndHash.
        let parts = Self.derive(chaining, key, 3)
        chaining = parts[0]
        mix(parts[1])
        cipher = Cipher(key: parts[2])
    }

    /// The first message: our half of the agreement, and proof of the key.
    mutating func hello() throws(Failure) -> [UInt8] {
        let half = Array(own.publicKey.rawRepresentation)
        mix(half)
        mixKey(half)
        let proof = try cipher.seal([], hash)
        mix(proof)
        return half + proof
    }

    /// The device's answer; from then on both sides can speak.
    mutating func finish(_ answer: [UInt8]) throws(Failure) {
        guard answer.count >= Self.keySize, let theirs = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: answer.prefix(Self.keySize)) else { throw Failure() }
        let half = Array(answer.prefix(Self.keySize))
        mix(half)
        mixKey(half)
        guard let shared = try? own.sharedSecretFromKeyAgreement(with: theirs) else { throw Failure() }
        mixKey(shared.withUnsafeBytes { Array($0) })
        _ = try cipher.open(Array(answer.dropFirst(Self.keySize)), hash)
        let keys = Self.derive(chaining, [], 2)
        (sending, receiving) = (Cipher(key: keys[0]), Cipher(key: keys[1]))
    }

    mutating func seal(_ plain: [UInt8]) throws(Failure) -> [UInt8] {
        guard let sealed = try sending?.seal(plain, []) else { throw Failure() }
        return sealed
    }

    mutating func open(_ sealed: [UInt8]) throws(Failure) -> [UInt8] {
        guard let plain = try receiving?.open(sealed, []) else { throw Failure() }
        return plain
    }

    private mutating func mix(_ data: [UInt8]) { hash = Self.digest(hash + data) }

    private mutating func mixKey(_ input: [UInt8]) {
        let parts = Self.derive(chaining, input, 2)
        chaining = parts[0]
        cipher = Cipher(key: parts[1])
    }

    private static func digest(_ data: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: data)) }

    /// Noise's HKDF: each output from the one before and its number.
    private static func derive(_ chaining: [UInt8], _ input: [UInt8], _ count: UInt8) -> [[UInt8]] {
        func code(_ key: [UInt8], _ data: [UInt8]) -> [UInt8] { Array(HMAC<SHA256>.authenticationCode(for: data, using: SymmetricKey(data: key))) }
        let secret = code(chaining, input)
        var outputs: [[UInt8]] = []
        for number in 1...count { outputs.append(code(secret, (outputs.last ?? []) + [number])) }
        return outputs
    }
}
