import CCrypto
import Testing

@testable import Cryptography

@Suite struct CryptoLibraryTests {
    /// The reason is that of this failure, told once, and none that was left by somebody else.
    @Test func theReasonIsTheLibrarys() throws {
        CryptoLibrary.begin()
        let refused = #expect(throws: CipherFailure.self) {
            try X25519Key().sharedSecret(with: [UInt8](repeating: 0, count: 32))
        }
        #expect(refused?.sentence == "With the other side's key none can be agreed on: failed during derivation")
        #expect(CryptoLibrary.failure(.failed, "Nothing").sentence == "Nothing")
        var place: UnsafePointer<UInt8>?
        #expect(d2i_PUBKEY(nil, &place, 0) == nil)
        let changed = #expect(throws: CipherFailure.self) {
            try Sealing.aesGCM.open(
                [UInt8](repeating: 0, count: 16), key: [UInt8](repeating: 0, count: 16),
                nonce: [UInt8](repeating: 0, count: 12))
        }
        #expect(changed?.sentence == "What was to be decrypted was changed, or is of another key")
    }
}
