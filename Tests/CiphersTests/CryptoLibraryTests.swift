import Testing

@testable import Ciphers

@Suite struct CryptoLibraryTests {
    @Test(arguments: [
        ("libnobody.so.77", "libssl3t64"), ("libnobody.so.77", "libnobody.so.77"),
        ("libc.so.6", "has no OPENSSL_init_crypto"),
    ]) func aLibraryThatIsNotThereIsTold(name: String, words: String) {
        guard case .failure(let failure) = CryptoLibrary.load(name) else {
            Issue.record("\(name) encrypts")
            return
        }
        #expect(failure.kind == .libraryMissing && failure.sentence.contains(words) && "\(failure)" == failure.sentence)
    }

    /// The reason is that of this failure, told once, and none that was left by somebody else.
    @Test func theReasonIsTheLibrarys() throws {
        let library = try CryptoLibrary.open()
        let refused = #expect(throws: CipherFailure.self) {
            try X25519Key().sharedSecret(with: [UInt8](repeating: 0, count: 32))
        }
        #expect(refused?.sentence == "With the other side's key none can be agreed on: failed during derivation")
        #expect(library.failure(.failed, "Nothing").sentence == "Nothing")
        var place: UnsafePointer<UInt8>?
        #expect(library.functions.d2i_PUBKEY(nil, &place, 0) == nil)
        let changed = #expect(throws: CipherFailure.self) {
            try Sealing.aesGCM.open(
                [UInt8](repeating: 0, count: 16), key: [UInt8](repeating: 0, count: 16),
                nonce: [UInt8](repeating: 0, count: 12))
        }
        #expect(changed?.sentence == "What was to be decrypted was changed, or is of another key")
    }
}
