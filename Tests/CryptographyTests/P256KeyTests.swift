import Support
import Testing

@testable import Cryptography

@Suite struct P256KeyTests {
    static func key(_ hex: String) throws -> P256Key { try #require(try P256Key(raw: Hex.bytes(hex))) }

    /// RFC 6979, appendix A.2.5.
    static let known = (
        raw: "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
        point:
            """
        04 60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6 \
        7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299
        """
    )

    @Test func theKeyOfTheStandard() throws {
        let key = try Self.key(Self.known.raw)
        #expect(key.publicKey == Hex.bytes(Self.known.point) && key.raw == Hex.bytes(Self.known.raw))
    }

    /// The smallest and the greatest: the base point (SEC 2, section 2.4.2), and the same below the axis.
    @Test func theEdges() throws {
        let one = [UInt8](repeating: 0, count: 31) + [1]
        let x = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
        #expect(
            try P256Key(raw: one)?.publicKey
                == Hex.bytes("04" + x + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"))
        let order = Hex.bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        #expect(
            try P256Key(raw: order.dropLast() + [0x50])?.publicKey
                == Hex.bytes("04" + x + "b01cbd1c01e58065711814b583f061e9d431cca994cea1313449bf97c840ae0a"))
        for none in [
            order, order.dropLast() + [0x52], [UInt8](repeating: 255, count: 32), [UInt8](repeating: 0, count: 32),
        ] { #expect(try P256Key(raw: none) == nil) }
        for count in 0...66 where count != 32 { #expect(try P256Key(raw: [UInt8](repeating: 1, count: count)) == nil) }
    }

    /// NIST's CAVS, KAS ECC CDH primitive, P-256, count 0.
    @Test func theAgreementOfTheStandard() throws {
        let key = try Self.key("7d7dc5f71eb29ddaf80d6214632eeae03d9058af1fb6d22ed80badb62bc1a534")
        #expect(
            key.publicKey
                == Hex.bytes(
                    """
                    04 ead218590119e8876b29146ff89ca61770c4edbbf97d38ce385ed281d8a6b230 \
                    28af61281fd35e2fa7002523acc85a429cb06ee6648325389f59edfce1405141
                    """
                ))
        let peer = Hex.bytes(
            """
            04 700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287 \
            db71e509e3fd9b060ddb20ba5c51dcc5948d46fbf640dfe0441782cab85fa4ac
            """
        )
        #expect(
            try key.sharedSecret(with: peer)
                == Hex.bytes("46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b"))
    }

    /// Cut, longer, in another form, beside the curve, or of numbers that are none: no secret is worked out with it,
    /// and no signature is looked at.
    @Test func whatIsNoPointIsRefused() throws {
        let (key, point) = (try P256Key(), Hex.bytes(Self.known.point))
        var wrong =
            point.indices.map { Array(point.prefix($0)) } + [
                point + [0], [UInt8](repeating: 0, count: 65), [4] + [UInt8](repeating: 0, count: 64),
                [4] + [UInt8](repeating: 255, count: 64),
            ]
        wrong += [0, 2, 3, 5, 6, 7, 255].map { [$0] + point.dropFirst() }
        wrong.append([3] + point[1..<33])
        for place in point.indices.dropFirst() {
            for bit in 0..<8 {
                var changed = point
                changed[place] ^= 1 << UInt8(bit)
                wrong.append(changed)
            }
        }
        for wrong in wrong {
            let refused = #expect(throws: CipherFailure.self) { try key.sharedSecret(with: wrong) }
            let unseen = #expect(throws: CipherFailure.self) {
                try P256Key.isSignature([UInt8](repeating: 1, count: 64), of: [], by: wrong)
            }
            #expect(
                refused?.kind == .refused && unseen?.kind == .refused,
                "\(wrong.count) bytes, the first \(wrong.first ?? 0)")
        }
        #expect(try key.sharedSecret(with: point).count == 32)
    }

    /// RFC 6979, appendix A.2.5: signatures that others made.
    @Test(arguments: [
        (
            "sample",
            """
            efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716 \
            f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8
            """
        ),
        (
            "test",
            """
            f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367 \
            019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083
            """
        ),
    ])
    func theSignaturesOfTheStandard(message: String, signature: String) throws {
        let (signature, point) = (Hex.bytes(signature), Hex.bytes(Self.known.point))
        #expect(try P256Key.isSignature(signature, of: Array(message.utf8), by: point))
        #expect(try !P256Key.isSignature(signature, of: Array((message + ".").utf8), by: point))
        #expect(try !P256Key.isSignature(signature, of: Array(message.utf8), by: P256Key().publicKey))
        for count in 0...130 where count != 64 {
            #expect(
                try !P256Key.isSignature(
                    Array((signature + signature + signature).prefix(count)), of: Array(message.utf8), by: point))
        }
        for place in signature.indices {
            var changed = signature
            changed[place] ^= 0x10
            #expect(try !P256Key.isSignature(changed, of: Array(message.utf8), by: point))
        }
        for none in [[UInt8](repeating: 0, count: 64), [UInt8](repeating: 255, count: 64)] {
            #expect(try !P256Key.isSignature(none, of: Array(message.utf8), by: point))
        }
    }

    /// What one signs, another knows for that key's, and both agree on a secret: so many times that numbers with a zero
    /// in front are among them.
    @Test func signedAndKnown() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max, using: &random) } }
        let other = try P256Key()
        var short = 0
        for turn in 0..<1200 {
            let key = try #require(
                try P256Key(raw: [UInt8.random(in: 0...254, using: &random)] + bytes(31)), "seed \(seed), turn \(turn)")
            let message = bytes(turn % 300)
            let signature = try key.signature(of: message)
            #expect(
                try signature.count == 64 && P256Key.isSignature(signature, of: message, by: key.publicKey),
                "seed \(seed), turn \(turn)")
            if signature[0] == 0 || signature[32] == 0 { short += 1 }
            guard turn % 50 == 0 else { continue }
            #expect(
                try key.sharedSecret(with: other.publicKey) == other.sharedSecret(with: key.publicKey),
                "seed \(seed), turn \(turn)")
            #expect(try key.signature(of: message) != signature, "seed \(seed), turn \(turn)")
        }
        // Of 2400 numbers none would begin with a zero once in 12,000 runs.
        #expect(short > 0, "seed \(seed)")
    }

    /// Both ways of writing a signature, whatever its numbers are.
    @Test func bothWritings() throws {
        let halves: [[UInt8]] = [
            [], [1], [0x7f], [0x80], [0xff], [1, 0], [0x80, 0], [UInt8](repeating: 0x7f, count: 31),
            [UInt8](repeating: 0x80, count: 31), [UInt8](repeating: 0x7f, count: 32),
            [UInt8](repeating: 0xff, count: 32),
        ]
        for first in halves {
            for second in halves {
                let raw = [first, second].flatMap { [UInt8](repeating: 0, count: 32 - $0.count) + $0 }
                let der = try #require(ECDSASignature(raw: raw)).der
                #expect(der.count <= ECDSASignature.longest && ECDSASignature(der: der)?.raw == raw)
                for count in der.indices { #expect(ECDSASignature(der: Array(der.prefix(count))) == nil) }
                #expect(ECDSASignature(der: der + [0]) == nil)
            }
        }
        #expect(
            ECDSASignature(raw: [1] + [UInt8](repeating: 0, count: 31) + [UInt8](repeating: 0, count: 31) + [0x80])?.der
                == [0x30, 0x26, 0x02, 0x20, 1] + [UInt8](repeating: 0, count: 31) + [0x02, 0x02, 0, 0x80])
        for none: [UInt8] in [
            [], [0x30], [0x30, 0], [0x30, 2, 2, 1], [0x31, 6, 2, 1, 1, 2, 1, 1], [0x30, 6, 3, 1, 1, 2, 1, 1],
            [0x30, 4, 2, 0, 2, 0], [0x30, 0x81, 6, 2, 1, 1, 2, 1, 1], [0x30, 3, 2, 1, 1],
        ] {
            #expect(ECDSASignature(der: none) == nil)
        }
        #expect(ECDSASignature(der: [0x30, 38, 2, 33] + [UInt8](repeating: 1, count: 33) + [2, 1, 1]) == nil)
    }
}
