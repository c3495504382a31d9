import Foundation
import Support
import Testing

/// `waterh-replay clone` and `waterh-emulator run --gadget` as built.
@Suite struct GadgetCommandTests {
    static let replay = Program("waterh-replay")
    static let capture = Program.repository + "/captures/boost_two-days.btsnoop"

    /// Two peripherals on one adapter, in hex text.
    static let two = """
        2026-02-02T22:21:20.000Z connected C0:FF:EE:00:00:01
        2026-02-02T22:21:20.100Z = 2A00 48 69
        2026-02-02T22:21:20.200Z disconnected
        2026-02-02T22:21:21.000Z connected C0:FF:EE:00:00:02
        2026-02-02T22:21:21.100Z = 2A19 4D
        2026-02-02T22:21:21.200Z disconnected

        """

    @Test func `a clone in words and as a document`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Self.replay.run(["clone", Self.capture, "-o", folder.file("g.json")])
        #expect(result.output == """
            A4:C1:38:31:D1:D2 WaterH-Boost-24oz to \(folder.file("g.json")): 6 services, 7 characteristics (7 discovered); 12 requests and 15 values in 2 conversations
              gap: no advertisement of it is in the capture
              gap: the values of 2 readable characteristics were never read

            """)
        #expect(result.exitCode == 0 && result.error == "")
        let streamed = try await Self.replay.run(["clone", Self.capture, "-o", "-"])
        #expect(try streamed.outputBytes == [UInt8](Data(contentsOf: folder.url("g.json"))))
        #expect(streamed.error.hasPrefix("A4:C1:38:31:D1:D2 WaterH-Boost-24oz to standard output: 6 services"))
        let document = try #require(try JSONSerialization.jsonObject(with: Data(streamed.outputBytes)) as? [String: Any])
        #expect(document["gadget"] as? Int == 1)
    }

    @Test func `several peripherals are listed, and one is chosen by address or number`() async throws {
        let none = try await Self.replay.run(["clone", "-", "-o", "-"], input: Array(Self.two.utf8))
        #expect(none.exitCode == 2)
        #expect(none.error == """
            error: standard input holds 2 peripherals
              Name one with --device: 1 is C0:FF:EE:00:00:01 Hi (1 connection, 3 ATT PDUs from it); 2 is C0:FF:EE:00:00:02 (1 connection, 3 ATT PDUs from it).

            """)
        for device in ["C0:FF:EE:00:00:02", "2"] {
            let one = try await Self.replay.run(["clone", "-", "--device", device, "-o", "-"], input: Array(Self.two.utf8))
            #expect(one.exitCode == 0 && one.output.contains(#""address" : "C0:FF:EE:00:00:02""#), "\(one.error)")
        }
        let absent = try await Self.replay.run(["clone", "-", "--device", "C0:FF:EE:00:00:09", "-o", "-"], input: Array(Self.two.utf8))
        #expect(absent.exitCode == 5 && absent.error.contains("C0:FF:EE:00:00:09 is not in standard input"))
        let wrong = try await Self.replay.run(["clone", "-", "--device", "Hi", "-o", "-"], input: Array(Self.two.utf8))
        #expect(wrong.exitCode == 2)
    }

    @Test func `a cut capture gives a clone of what comes before, and says where it ends`() async throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.capture)))
        let result = try await Self.replay.run(["clone", "-", "-o", "-"], input: Array(whole.prefix(3000)))
        #expect(result.exitCode == 4 && result.output.hasPrefix("{"))
        let nothing = try await Self.replay.run(["clone", "-", "-o", "-"], input: Array("hello\n".utf8))
        #expect(nothing.exitCode == 4 && nothing.output == "")
    }
}
