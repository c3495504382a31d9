import Cryptography

/// The initiator of `Noise_NNpsk0_25519_ChaChaPoly_SHA256`, which encrypts the ESPHome API (The Noise Protocol
/// Framework, revision 34). After one message in each direction, both sides have a key for each direction.
struct NoiseSession {
    /// The message was not encrypted with the expected key.
    struct Failure: Error {}

    private static let name = Array("Noise_NNpsk0_25519_ChaChaPoly_SHA256".utf8)
    private static let prologue = Array("NoiseAPIInit".utf8) + [0, 0]
    static let keySize = 32

    private let own: X25519Key
    private var chaining: [UInt8]
    private var hash: [UInt8]
    private var cipher = Cipher(key: [])
    private var sending: Cipher?
    private var receiving: Cipher?

    private struct Cipher {
        let key: [UInt8]
        var count: UInt64 = 0

        private mutating func nonce() -> [UInt8] {
            defer { count += 1 }
            return [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        }

        mutating func seal(_ plain: [UInt8], _ extra: [UInt8]) throws(Failure) -> [UInt8] {
            guard let sealed = try? ChaChaPoly.seal(plain, key: key, nonce: nonce(), authenticating: extra)
            else { throw Failure() }
            return sealed
        }

        mutating func open(_ sealed: [UInt8], _ extra: [UInt8]) throws(Failure) -> [UInt8] {
            guard let plain = try? ChaChaPoly.open(sealed, key: key, nonce: nonce(), authenticating: extra)
            else { throw Failure() }
            return plain
        }
    }

    /// - Parameters:
    ///   - key: the device's key, 32 bytes.
    ///   - own: an ephemeral key.
    init(key: [UInt8], own: X25519Key) {
        self.own = own
        hash = SHA256.digest(Self.name)
        chaining = hash
        mix(Self.prologue)
        // The token psk (MixKeyAndHash).
        let parts = Self.derive(chaining, key, 3)
        chaining = parts[0]
        mix(parts[1])
        cipher = Cipher(key: parts[2])
    }

    mutating func hello() throws(Failure) -> [UInt8] {
        let publicKey = own.publicKey
        mix(publicKey)
        mixKey(publicKey)
        let tag = try cipher.seal([], hash)
        mix(tag)
        return publicKey + tag
    }

    /// Handles the device's handshake message. After that, encryption is possible.
    mutating func finish(_ answer: [UInt8]) throws(Failure) {
        guard answer.count >= Self.keySize else { throw Failure() }
        let peerKey = Array(answer.prefix(Self.keySize))
        mix(peerKey)
        mixKey(peerKey)
        guard let shared = try? own.sharedSecret(with: peerKey) else { throw Failure() }
        mixKey(shared)
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

    private mutating func mix(_ data: [UInt8]) { hash = SHA256.digest(hash + data) }

    private mutating func mixKey(_ input: [UInt8]) {
        let parts = Self.derive(chaining, input, 2)
        chaining = parts[0]
        cipher = Cipher(key: parts[1])
    }

    /// Noise's HKDF: each output depends on the previous one and its number.
    private static func derive(_ chaining: [UInt8], _ input: [UInt8], _ count: UInt8) -> [[UInt8]] {
        let secret = HMAC.authenticationCode(of: input, key: chaining)
        var outputs: [[UInt8]] = []
        for number in 1...count {
            outputs.append(HMAC.authenticationCode(of: (outputs.last ?? []) + [number], key: secret))
        }
        return outputs
    }
}
