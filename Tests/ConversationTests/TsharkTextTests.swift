import Bluetooth
import Foundation
import Support
import Testing

@Suite struct TsharkTextTests {
    static let shipped = ["boost_two-days.btsnoop", "vita_reports-inside-log.pcapng"].map {
        "\(Program.repository)/captures/\($0)"
    }

    /// Writes the output of tshark for a capture, and returns the path.
    private static func print(_ path: String, _ options: [String], to file: String) async throws -> String {
        let printed = try await Tshark().program.run(["-r", path] + options, limit: 120)
        try Data(printed.outputBytes).write(to: URL(fileURLWithPath: file))
        return file
    }

    private static func lines(_ observed: Observed) -> [String] {
        observed.pdus.filter { !$0.att.isSynthetic }.map { att, pdu in
            "\(att.frame) \(att.time.map { "\($0)" } ?? "-") \(att.direction.map { "\($0)" } ?? "-") \(hex(pdu))"
        }
    }

    /// Small captures of each link type: tshark's JSON is a hundred times as long as the capture.
    @Test(
        arguments: shipped
            + RealCaptures.files.filter { path in ["darkelf", "crackle"].contains { path.contains($0) } })
    func `the JSON of tshark has the packets of the capture`(path: String) async throws {
        let folder = try TemporaryFolder()
        try await Self.expectSamePackets(path, folder)
    }

    /// Some link types have the kind, direction and adapter next to the bytes of a packet; tshark's JSON has fields for
    /// them.
    @Test(arguments: ["btsnoop-h1", "btsnoop-monitor", "pcapng-monitor", "pklg", "pcap-ll-phdr"])
    func `the JSON of tshark for any format has the packets of the capture`(format: String) async throws {
        let folder = try TemporaryFolder()
        let rewritten = folder.file("capture.\(format)")
        #expect(
            try await Program("waterh-replay").run(["convert", Self.shipped[0], rewritten, "--format", format]).exitCode
                == 0)
        #expect(try await Self.expectSamePackets(rewritten, folder) > 100)
    }

    /// tshark names link types other than HCI. Directions on the air are derived again.
    @discardableResult
    private static func expectSamePackets(_ path: String, _ folder: TemporaryFolder) async throws -> Int {
        let json = try await print(path, ["-T", "json", "-x"], to: folder.file("capture.json"))
        let expected = try lines(Observed(path: path)), found = try lines(Observed(path: json))
        #expect(
            found == expected,
            """
            \(path): \(found.count) of \(expected.count), \
            \(zip(found, expected).first { $0 != $1 }.map { "\($0)" } ?? "")
            """
        )
        return expected.count
    }

    /// The dump has the packet types, but neither time nor direction.
    @Test(arguments: shipped)
    func `the hex dump of tshark has the packets of the capture`(path: String) async throws {
        let folder = try TemporaryFolder()
        let dump = try await Self.print(path, ["-x"], to: folder.file("dump.txt"))
        #expect(try Observed(path: dump).seen.map(\.pdu) == Observed(path: path).seen.map(\.pdu))
        let drinks = try await Program("waterh-replay").run(["drinks", dump])
        #expect(drinks.lines.last == (try await Program("waterh-replay").run(["drinks", path])).lines.last)
    }
}
