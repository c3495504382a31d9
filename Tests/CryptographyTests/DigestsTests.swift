import Cryptography
import Testing

@Suite struct DigestsTests {
    static func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// FIPS 180-4 and NIST's examples.
    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ("a", 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func `SHA-256 matches FIPS 180-4`(message: String, times: Int, digest: String) {
        let message = String(repeating: message, count: times).utf8
        #expect(SHA256.hex(message) == digest && Self.hex(SHA256.digest(message)) == digest)
    }

    /// Each length up to more than three blocks, against Python's hashlib: the digest of all digests.
    @Test func `SHA-256 of every length matches another implementation`() {
        let all = (0..<200).flatMap { count in SHA256.digest((0..<count).map { UInt8($0 * 7 & 255) }) }
        #expect(SHA256.hex(all) == "0a716dcd52ebb45d547cf893c2616d1641ae3c122398e759ddeb1d0698a65c1a")
    }

    /// RFC 4231, section 4: cases 1 to 4, 6 and 7.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(1...25), [UInt8](repeating: 0xcd, count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131),
            Array(
                """
                This is a test using a larger than block-size key and a larger than block-size data. The key needs \
                to be hashed before being used by the HMAC algorithm.
                """
                .utf8),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ])
    func `HMAC-SHA-256 matches RFC 4231`(key: [UInt8], message: [UInt8], code: String) {
        #expect(Self.hex(HMAC.authenticationCode(of: message, key: key)) == code)
    }

    /// A key of the block size is used as it is, and a longer one is hashed.
    @Test func `HMAC-SHA-256 handles keys at the block size`() {
        let long = [UInt8](repeating: 7, count: 65)
        #expect(
            HMAC.authenticationCode(of: [1], key: long) == HMAC.authenticationCode(of: [1], key: SHA256.digest(long)))
        let whole = [UInt8](repeating: 7, count: 64)
        #expect(
            HMAC.authenticationCode(of: [1], key: whole) != HMAC.authenticationCode(of: [1], key: SHA256.digest(whole)))
        #expect(
            HMAC.authenticationCode(of: [1], key: [])
                == HMAC.authenticationCode(of: [1], key: [UInt8](repeating: 0, count: 64)))
    }
}
