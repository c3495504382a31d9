import Testing
import Utilities

@Suite struct DigestsTests {
    static func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    /// FIPS 180-4 and NIST's examples.
    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func `SHA-256 matches FIPS 180-4`(message: String, times: Int, digest: String) {
        let message = String(repeating: message, count: times).utf8
        #expect(SHA256.hex(message) == digest && Self.hex(SHA256.digest(message)) == digest)
    }

    /// RFC 4231, section 4: cases 1, 2 and 6.
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
            [UInt8](repeating: 0xaa, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `HMAC-SHA-256 matches RFC 4231`(key: [UInt8], message: [UInt8], code: String) {
        #expect(Self.hex(HMAC.authenticationCode(of: message, key: key)) == code)
    }
}
