import Bluetooth
import Foundation
import Replay
import Support
import Testing

/// The output of btmon, read again, has the same ATT PDUs.
///
/// Debian 12's btmon (5.66) crashes on a Read By Type Request, so its input has none.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/btmon"), "btmon is not there"))
struct BtmonTests {
    private static func pdus(_ path: String) throws -> [String] {
        try Observed(path: path).pdus.filter { !$0.att.isSynthetic }.map { att, pdu in
            "\(att.direction.map { "\($0)" } ?? "-") \(hex(pdu))"
        }
    }

    /// The records of a monitor capture without these requests.
    private static func withoutDeadlyRequests(_ file: Data) -> Data {
        var kept = Data(file.prefix(16)), at = 16
        let bytes = [UInt8](file)
        while at + 24 <= bytes.count {
            let length = bytes[(at + 4)..<(at + 8)].reduce(0) { $0 << 8 | Int($1) }
            let record = bytes[at..<(at + 24 + length)], data = record.dropFirst(24)
            if !(data.count > 8 && Array(data.dropFirst(6).prefix(3)) == [4, 0, 8]) { kept += record }
            at += 24 + length
        }
        return kept
    }

    @Test(
        arguments: (TsharkTextTests.shipped + RealCaptures.files.filter { $0.hasSuffix(".btsnoop") }).map {
            ($0, ["-r"])
        }
            + TsharkTextTests.shipped.map { ($0, ["-T", "-r"]) })
    func `the text of btmon has the PDUs of the capture`(path: String, words: [String]) async throws {
        let folder = try TemporaryFolder()
        #expect(
            try await Program("waterh-replay").run([
                "convert", path, folder.file("whole"), "--format", "btsnoop-monitor",
            ]).exitCode == 0)
        let monitor = folder.file("monitor")
        try Self.withoutDeadlyRequests(Data(contentsOf: folder.url("whole"))).write(to: URL(fileURLWithPath: monitor))
        let printed = try await Program(path: "/usr/bin/btmon").run(words + [monitor], limit: 60)
        try Data(printed.outputBytes).write(to: folder.url("text"))
        let expected = try Self.pdus(monitor), found = try Self.pdus(folder.file("text"))
        #expect(!expected.isEmpty)
        #expect(
            found == expected,
            """
            \(path): \(found.count) of \(expected.count), \
            \(zip(found, expected).first { $0 != $1 }.map { "\($0)" } ?? "")
            """
        )
    }
}
