import Bluetooth
import CommandSupport
import Foundation
import Testing
import Emulator

@Suite struct ProfileCheckTests {
    private static let frame =
        #"""
        {"gadget": 1, "services": [{"uuid": "FF00", "handle": 1, "end": 5, "source": "discovered", "includes": \#
        [], "characteristics": [CHARACTERISTICS]}]MORE}
        """#

    private static func characteristic(_ declaration: Int, _ handle: Int, _ more: String = "") -> String {
        #"""
        {"uuid": "FF01", "declaration": \#(declaration), "handle": \#(handle), "properties": ["read"], "source": \#
        "seen", "descriptors": []\#(more)}
        """#
    }

    @Test(arguments: [
        ("", "", ""),
        (characteristic(2, 3) + "," + characteristic(4, 5), "", ""),
        (
            characteristic(2, 3) + "," + characteristic(3, 4), "",
            """
            services[0].characteristics[1]: the declaration has the handle 3, but handles up to 3 are used: \
            handles must be unique and increase
            """
        ),
        (
            characteristic(1, 3), "",
            """
            services[0].characteristics[0]: the declaration has the handle 1, but handles up to 1 are used: \
            handles must be unique and increase
            """
        ),
        (
            characteristic(0, 3), "",
            "services[0].characteristics[0]: the declaration has the handle 0, which no attribute has"
        ),
        (
            characteristic(4, 6), "",
            "services[0].characteristics[0]: the value has the handle 6, and its service ends at 5"
        ),
        (
            characteristic(2, 70000), "",
            "services[0].characteristics[0].handle: 70000 is out of range: expected 0–65535"
        ),
        (
            characteristic(2, 3, #", "value": "0g""#), "",
            "services[0].characteristics[0].value: bytes are pairs of hex digits"
        ),
        (characteristic(2, 3, #", "value": "\#(String(repeating: "00", count: 512))""#), "", ""),
        (
            characteristic(2, 3, #", "value": "\#(String(repeating: "00", count: 513))""#), "",
            "services[0].characteristics[0]: a value is limited to 512 bytes, but has 513"
        ),
        ("", #", "mtu": 22"#, "mtu: an MTU is 23 to 517, not 22"),
        ("", #", "gadget": 2"#, "gadget: unsupported version 2: expected 1"),
        ("", #", "address": "A4:C1""#, "address: an address is six bytes in hex with colons"),
        (
            "", #", "conversations": [{"exchanges": [{"request": "read"}]}]"#,
            "conversations[0].exchanges[0]: the read has no handle"
        ),
        (
            "", #", "conversations": [{"exchanges": [{"request": "dance", "handle": 3}]}]"#,
            "conversations[0].exchanges[0].request: "
        ),
        (
            "", #", "conversations": [{"exchanges": [{"request": "read", "handle": 3, "response": {"afterMs": -1}}]}]"#,
            "conversations[0].exchanges[0].response: afterMs is 0 to 86400000, not -1"
        ),
        ("", #", "rules": [{"name": "a", "then": "b"}]"#, "rules[0]: 'then' names the rule 'b', which does not exist"),
        (
            "", #", "rules": [{"pattern": "a5 * 00"}]"#,
            "rules[0].pattern: a pattern is hex digits, ?? for any byte, and * at its end for any rest"
        ),
        ("", #", "rules": [{"name": "a", "then": "a"}]"#, ""),
    ])
    func documents(characteristics: String, more: String, words: String) throws {
        var text = Self.frame.replacingOccurrences(of: "CHARACTERISTICS", with: characteristics).replacingOccurrences(
            of: "MORE", with: more)
        if more.contains(#""gadget": 2"#) { text = text.replacingOccurrences(of: #""gadget": 1, "#, with: "") }
        do throws(CommandFailure) {
            _ = try ProfileFile.decode(Data(text.utf8), path: "g.json")
            #expect(words == "")
        } catch {
            #expect(words != "" && error.description.hasPrefix("g.json: " + words), "\(error)")
        }
    }

    @Test(arguments: ["", "x", "[]", "{}", #"{"gadget": "1"}"#, "\u{FEFF}", String(repeating: "[", count: 100_000)])
    func `an invalid document is rejected`(text: String) {
        #expect(throws: CommandFailure.self) { _ = try ProfileFile.decode(Data(text.utf8), path: "g") }
    }

    @Test func `a profile file is unchanged after decoding and encoding`() throws {
        let data = try DamageTests.document()
        let profile = try ProfileFile.decode(data, path: "g")
        #expect(try ProfileFile.encode(profile) == data)
    }
}
