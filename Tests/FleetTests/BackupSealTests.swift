import Testing

@testable import FleetBackup
@testable import FleetStore

/// What a piece of a backup looks like may never change: those that were made have to be read.
@Suite struct BackupSealTests {
    static func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    }

    static func seal() throws -> BackupSeal {
        let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
        return try #require(
            BackupSeal(FleetStore.Seal(owner: "fleet", id: String(repeating: "0a", count: 16), key: key)))
    }

    /// The Galois/Counter Mode of Operation (McGrew and Viega, as submitted to NIST), appendix B, case 16: nonce,
    /// bytes, tag.
    @Test func aPieceIsNonceBytesAndTag() throws {
        let place = Self.bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let plain = Self.bytes(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """
        )
        let sealed =
            Self.bytes("cafebabefacedbaddecaf888")
            + Self.bytes(
                """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
                """
            )
            + Self.bytes("76fc6ece0f4e1768cddf8853bb2d551b")
        let seal = try Self.seal()
        #expect(try seal.open(sealed, at: place) == plain)
        #expect(try seal.open(([9, 9] + sealed).dropFirst(2), at: place) == plain, "a slice begins anywhere")
        let changed = "The backup is not whole, or somebody changed it: a piece of it cannot be opened with its key."
        for count in sealed.indices {
            #expect(throws: BackupTrouble(changed)) { try seal.open(sealed.prefix(count), at: place) }
        }
        for index in sealed.indices {
            var other = sealed
            other[index] ^= 1
            #expect(throws: BackupTrouble(changed)) { try seal.open(other, at: place) }
        }
        #expect(throws: BackupTrouble(changed)) { try seal.open(sealed, at: place + [0]) }
    }

    /// No two pieces have one nonce.
    @Test func eachPieceHasANonceOfItsOwn() throws {
        let (seal, plain) = (try Self.seal(), Array("the same".utf8))
        let all = try (0..<100).map { _ in try seal.seal(plain, at: [1]) }
        #expect(Set(all.map { $0.prefix(12) }).count == all.count)
        #expect(try all.allSatisfy { try $0.count == plain.count + 28 && seal.open($0, at: [1]) == plain })
    }
}
