import Testing
import Utilities
@testable import ESPHome

/// Test vectors of PyPI's noiseprotocol 0.3.1. The pre-shared key is 00…1F. The ephemeral keys are 32 bytes 11 (client)
/// and 32 bytes 22 (device).
@Suite struct NoiseSessionTests {
    static let hello =
        "7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13d1bc1a38b6793685dc7e2ffdf8ea0933"
    static let answer =
        "0faa684ed28867b97f4a6a2dee5df8ce974e76b7018e3f22a1c4cf2678570f207336b95933b321b1ae86673f689f5c9f"

    static func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    }

    static func session() throws -> NoiseSession {
        NoiseSession(key: Array(0..<32), ephemeralKey: try X25519Key(raw: [UInt8](repeating: 0x11, count: 32)))
    }

    @Test func `the handshake and the messages in both directions match test vectors`() throws {
        var session = try Self.session()
        #expect(try session.hello() == Self.bytes(Self.hello))
        try session.finish(Self.bytes(Self.answer))
        #expect(try session.seal(Array("one".utf8)) == Self.bytes("6743ed4bb4e306370bdd0a1da7f4dbaedc7dd7"))
        #expect(try session.seal(Array("two".utf8)) == Self.bytes("376e55c8ed917c31cd597aac7810594e737b3d"))
        #expect(try session.open(Self.bytes("ad224991e215050ed70e65f3b2d9712d4993074083")) == Array("three".utf8))
        #expect(try session.open(Self.bytes("455cefb80c49ccfb47b759043b665238")) == [])
    }

    @Test func `a changed or truncated handshake message is rejected`() throws {
        let answer = Self.bytes(Self.answer)
        for index in answer.indices {
            var session = try Self.session()
            _ = try session.hello()
            var damaged = answer
            damaged[index] ^= 1
            #expect(throws: CryptographyError.self) { try session.finish(damaged) }
            var short = try Self.session()
            _ = try short.hello()
            #expect(throws: CryptographyError.self) { try short.finish(Array(answer.prefix(index))) }
        }
    }
}
