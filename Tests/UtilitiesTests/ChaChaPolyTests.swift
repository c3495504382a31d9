import Testing
import Utilities

@Suite struct ChaChaPolyTests {
    // RFC 8439, section 2.8.2.
    let key = Hex.bytes("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f")
    let nonce = Hex.bytes("070000004041424344454647")
    let extra = Hex.bytes("50515253c0c1c2c3c4c5c6c7")
    let plaintext = Array(
        """
        Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would \
        be it.
        """.utf8)
    let sealed = Hex.bytes(
        """
        d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6\
        3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36\
        92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
        3ff4def08e4b7a9de576d26586cec64b6116 1ae10b594f09e26a7e902ecbd0600691
        """)

    @Test func `seal and open agree with RFC 8439`() throws {
        #expect(try ChaChaPoly.seal(plaintext, key: key, nonce: nonce, authenticating: extra) == sealed)
        #expect(try ChaChaPoly.open(sealed, key: key, nonce: nonce, authenticating: extra) == plaintext)
    }

    private func isRefused(
        _ sealed: [UInt8], key: [UInt8]? = nil, nonce: [UInt8]? = nil, extra: [UInt8]? = nil
    ) -> Bool {
        let opened = try? ChaChaPoly.open(
            sealed, key: key ?? self.key, nonce: nonce ?? self.nonce, authenticating: extra ?? self.extra)
        return opened == nil
    }

    private func withOneBitFlipped(_ bytes: [UInt8]) -> [[UInt8]] {
        bytes.indices.flatMap { index in
            (0..<8).map { bit in
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                return changed
            }
        }
    }

    @Test func `open rejects a truncated or extended ciphertext`() {
        for count in sealed.indices {
            #expect(isRefused(Array(sealed.prefix(count))), "prefix of \(count) bytes")
            if count > 0 { #expect(isRefused(Array(sealed.dropFirst(count))), "without the first \(count) bytes") }
        }
        #expect(isRefused(sealed + [0]) && isRefused([0] + sealed))
    }

    @Test func `open rejects a flipped bit in ciphertext, key, nonce or additional data`() throws {
        for changed in withOneBitFlipped(sealed) { #expect(isRefused(changed)) }
        for changed in withOneBitFlipped(key) { #expect(isRefused(sealed, key: changed)) }
        for changed in withOneBitFlipped(nonce) { #expect(isRefused(sealed, nonce: changed)) }
        for changed in withOneBitFlipped(extra) { #expect(isRefused(sealed, extra: changed)) }
        #expect(isRefused(sealed, extra: extra + [0]))
        #expect(try ChaChaPoly.open(sealed, key: key, nonce: nonce, authenticating: extra) == plaintext)
    }

    @Test(arguments: [0, 11, 13, 31, 33]) func `a key or nonce of the wrong length is rejected`(count: Int) {
        let bytes = [UInt8](repeating: 1, count: count)
        for (key, nonce) in [(bytes, nonce), (key, bytes)] {
            #expect(throws: CryptographyError.self) { try ChaChaPoly.seal([3], key: key, nonce: nonce) }
            #expect(isRefused(sealed, key: key, nonce: nonce))
        }
    }
}
