import Testing
import Utilities

/// RFC 7748.
@Suite struct X25519KeyTests {
    static func key(_ hex: String) throws -> X25519Key { try X25519Key(raw: Hex.bytes(hex)) }

    /// Section 6.1.
    @Test func `the key agreement matches RFC 7748`() throws {
        let alice = try Self.key("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
        let bob = try Self.key("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
        #expect(alice.publicKey == Hex.bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"))
        #expect(bob.publicKey == Hex.bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
        let shared = Hex.bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
        #expect(try alice.sharedSecret(with: bob.publicKey) == shared)
        #expect(try bob.sharedSecret(with: alice.publicKey) == shared)
    }

    /// Points of small order: the secret would be zero with every key.
    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
    func `a public key of small order is rejected`(point: String) throws {
        #expect(throws: CryptographyError.self) { try X25519Key().sharedSecret(with: Hex.bytes(point)) }
    }

    @Test func `keys of another length are rejected`() throws {
        let key = try X25519Key()
        for count in 0...66 where count != 32 {
            let bytes = [UInt8](repeating: 9, count: count)
            #expect(throws: CryptographyError.self) { try X25519Key(raw: bytes) }
            #expect(throws: CryptographyError.self) { try key.sharedSecret(with: bytes) }
        }
    }

    @Test func `random keys differ`() throws {
        let (a, b) = (try X25519Key(), try X25519Key())
        #expect(a.publicKey != b.publicKey)
        #expect(try a.sharedSecret(with: b.publicKey) == b.sharedSecret(with: a.publicKey))
        #expect(try a.sharedSecret(with: b.publicKey) != a.sharedSecret(with: a.publicKey))
    }
}
