import Support
import Testing

@testable import Cryptography

@Suite struct SealingTests {
    struct Example: Sendable {
        let sealing: Sealing
        let key, nonce, plain, extra, sealed: [UInt8]

        init(_ sealing: Sealing, _ key: String, _ nonce: String, _ plain: String, _ extra: String, _ sealed: String) {
            self.sealing = sealing
            (self.key, self.nonce, self.plain, self.extra, self.sealed) = (
                Hex.bytes(key), Hex.bytes(nonce), Hex.bytes(plain), Hex.bytes(extra), Hex.bytes(sealed)
            )
        }
    }

    static let zeros = String(repeating: "0", count: 32)

    static let examples = [
        // The Galois/Counter Mode of Operation (McGrew and Viega, as submitted to NIST), appendix B: cases 1, 2 and 4
        // with 128 bits, 13, 14 and 16 with 256.
        Example(.aesGCM, zeros, "000000000000000000000000", "", "", "58e2fccefa7e3061367f1d57a4e7455a"),
        Example(
            .aesGCM, zeros, "000000000000000000000000", zeros, "",
            "0388dace60b6a392f328c2b971b2fe78 ab6e47d42cec13bdf53a67b21257bddf"),
        Example(
            .aesGCM, "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """,
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            """
            42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091 \
            5bc94fbc3221a5db94fae95ae7121a47
            """
        ),
        Example(.aesGCM, zeros + zeros, "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
        Example(
            .aesGCM, zeros + zeros, "000000000000000000000000", zeros, "",
            "cea7403d4d606b6e074ec5d3baf39d18 d0d1c8a799996bf0265b98b5d48ab919"),
        Example(
            .aesGCM, "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """,
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662 \
            76fc6ece0f4e1768cddf8853bb2d551b
            """
        ),
        // RFC 8439, section 2.8.2.
        Example(
            .chaChaPoly, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
            """
            4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a204966204920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73637265656e20776f756c642062652069742e
            """,
            "50515253c0c1c2c3c4c5c6c7",
            """
            d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116 \
            1ae10b594f09e26a7e902ecbd0600691
            """
        ),
    ]

    @Test(arguments: examples.indices) func theExamplesOfTheStandards(number: Int) throws {
        let one = Self.examples[number]
        #expect(!one.sealed.isEmpty && one.sealed.count == one.plain.count + Sealing.tagSize)
        #expect(
            try one.sealing.seal(one.plain, key: one.key, nonce: one.nonce, authenticating: one.extra) == one.sealed)
        #expect(
            try one.sealing.open(one.sealed, key: one.key, nonce: one.nonce, authenticating: one.extra) == one.plain)
    }

    static func isRefused(_ body: () throws(CipherFailure) -> [UInt8]) -> Bool {
        do throws(CipherFailure) { _ = try body() } catch { return error.kind == .refused && !error.sentence.isEmpty }
        return false
    }

    /// Cut at any byte, longer, or with any bit of any byte another: nobody reads it.
    @Test(arguments: examples.indices) func whatWasChangedIsRefused(number: Int) throws {
        let one = Self.examples[number]
        func opens(_ sealed: [UInt8], key: [UInt8]? = nil, nonce: [UInt8]? = nil, extra: [UInt8]? = nil) -> ()
            throws(CipherFailure) -> [UInt8]
        {
            { () throws(CipherFailure) in
                try one.sealing.open(
                    sealed, key: key ?? one.key, nonce: nonce ?? one.nonce, authenticating: extra ?? one.extra)
            }
        }
        for count in one.sealed.indices {
            #expect(Self.isRefused(opens(Array(one.sealed.prefix(count)))), "cut at \(count)")
        }
        for count in one.sealed.indices.dropFirst() {
            #expect(Self.isRefused(opens(Array(one.sealed.dropFirst(count)))), "without the first \(count)")
        }
        #expect(Self.isRefused(opens(one.sealed + [0])) && Self.isRefused(opens([0] + one.sealed)))
        func flipped(_ bytes: [UInt8]) -> [[UInt8]] {
            bytes.indices.flatMap { place in
                (0..<8).map { bit in
                    var changed = bytes
                    changed[place] ^= 1 << UInt8(bit)
                    return changed
                }
            }
        }
        for changed in flipped(one.sealed) { #expect(Self.isRefused(opens(changed))) }
        for changed in flipped(one.key) { #expect(Self.isRefused(opens(one.sealed, key: changed))) }
        for changed in flipped(one.nonce) { #expect(Self.isRefused(opens(one.sealed, nonce: changed))) }
        for changed in flipped(one.extra) { #expect(Self.isRefused(opens(one.sealed, extra: changed))) }
        #expect(Self.isRefused(opens(one.sealed, extra: one.extra + [0])))
        // What others made of the errors before does not hinder what is right.
        #expect(
            try one.sealing.open(one.sealed, key: one.key, nonce: one.nonce, authenticating: one.extra) == one.plain)
    }

    @Test(arguments: Sealing.allCases) func wrongLengths(sealing: Sealing) {
        let right: Set<Int> = sealing == .aesGCM ? [16, 32] : [32]
        for count in 0...66 {
            for key in [true, false] {
                let (keySize, nonceSize) = key ? (count, 12) : (32, count)
                guard key ? !right.contains(count) : count != 12 else { continue }
                for seals in [true, false] {
                    let failure = #expect(throws: CipherFailure.self) {
                        let (key, nonce) = (
                            [UInt8](repeating: 1, count: keySize), [UInt8](repeating: 2, count: nonceSize)
                        )
                        _ =
                            seals
                            ? try sealing.seal([3], key: key, nonce: nonce)
                            : try sealing.open([UInt8](repeating: 4, count: 40), key: key, nonce: nonce)
                    }
                    #expect(failure?.kind == .wrongLength && failure?.sentence.contains("\(count)") == true)
                }
            }
        }
    }

    /// Any length there and back, from many threads at once; whatever of it goes wrong, its seed is printed.
    @Test(arguments: Sealing.allCases) func thereAndBack(sealing: Sealing) async {
        let start = UInt64.random(in: 0...UInt64.max)
        await withTaskGroup(of: Void.self) { group in
            for turn in 0..<64 {
                group.addTask {
                    var random = SeededGenerator(seed: start &+ UInt64(turn))
                    func bytes(_ count: Int) -> [UInt8] {
                        (0..<count).map { _ in .random(in: .min ... .max, using: &random) }
                    }
                    let (plain, key, nonce, extra) = (
                        bytes(Int.random(in: 0...3000, using: &random)), bytes(32), bytes(12),
                        bytes(Int.random(in: 0...40, using: &random))
                    )
                    let sealed = try? sealing.seal(plain, key: key, nonce: nonce, authenticating: extra)
                    #expect(
                        sealed.flatMap { try? sealing.open($0, key: key, nonce: nonce, authenticating: extra) }
                            == plain, "seed \(start), turn \(turn)")
                }
            }
        }
    }
}
