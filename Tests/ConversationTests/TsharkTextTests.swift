import Foundation
import Replay
import Support
import Testing

@Suite struct TsharkTextTests {
    static let shipped = ["boost_two-days.btsnoop", "vita_reports-inside-log.pcapng"].map {
        "\(Program.repository)/captures/\($0)"
    }

    private static func pdus(_ path: String) async throws -> [String] {
        struct Line: Decodable { var frame: Int, time: String?, direction: String?, pdu: String }
        let result = try await Program("waterh-replay").run(["att", path, "--json"])
        return try result.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }.map {
            "\($0.frame) \($0.time ?? "-") \($0.direction ?? "-") \($0.pdu)"
        }
    }

    @Test(arguments: shipped + RealCaptures.files)
    func `the JSON of tshark has the packets of the capture`(path: String) async throws {
        let folder = try TemporaryFolder()
        let printed = try await Tshark().program.run(["-r", path, "-T", "json", "-x"], limit: 120)
        try Data(printed.outputBytes).write(to: folder.url("capture.json"))
        let expected = try await Self.pdus(path), found = try await Self.pdus(folder.file("capture.json"))
        // tshark names link types other than HCI. Directions on the air are derived again.
        #expect(
            found == expected,
            """
            \(path): \(found.count) of \(expected.count), \
            \(zip(found, expected).first { $0 != $1 }.map { "\($0)" } ?? "")
            """
        )
    }

    /// Some formats have the kind, direction and adapter next to the bytes of a packet; tshark's JSON has fields for
    /// them.
    @Test(arguments: [
        "btsnoop", "btsnoop-h1", "btsnoop-monitor", "pcap-monitor", "pcapng-monitor", "pklg", "pklg-be", "pcap-ll-phdr",
    ])
    func `the JSON of tshark for any format has the packets of the capture`(format: String) async throws {
        let folder = try TemporaryFolder()
        let rewritten = folder.file("capture.\(format)")
        #expect(
            try await Program("waterh-replay").run(["convert", Self.shipped[0], rewritten, "--format", format]).exitCode
                == 0)
        let printed = try await Tshark().program.run(["-r", rewritten, "-T", "json", "-x"], limit: 120)
        try Data(printed.outputBytes).write(to: folder.url("capture.json"))
        let expected = try await Self.pdus(rewritten), found = try await Self.pdus(folder.file("capture.json"))
        #expect(expected.count > 100)
        #expect(
            found == expected,
            """
            \(format): \(found.count) of \(expected.count), \
            \(zip(found, expected).first { $0 != $1 }.map { "\($0)" } ?? "")
            """
        )
    }

    /// The dump has the packet types, but neither time nor direction.
    @Test(arguments: shipped)
    func `the hex dump of tshark has the packets of the capture`(path: String) async throws {
        let folder = try TemporaryFolder()
        let printed = try await Tshark().program.run(["-r", path, "-x"], limit: 120)
        try Data(printed.outputBytes).write(to: folder.url("dump.txt"))
        func bytes(_ lines: [String]) -> [String] { lines.map { $0.split(separator: " ").last.map(String.init) ?? "" } }
        #expect(bytes(try await Self.pdus(folder.file("dump.txt"))) == bytes(try await Self.pdus(path)))
        let drinks = try await Program("waterh-replay").run(["drinks", folder.file("dump.txt")])
        #expect(drinks.lines.last == (try await Program("waterh-replay").run(["drinks", path])).lines.last)
    }
}
