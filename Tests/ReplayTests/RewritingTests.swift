import Captures
import Foundation
import Replay
import Support
import Testing

@Suite struct RewritingTests {
    static let folder = Program.repository + "/captures"
    static let shipped =
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.filter { name in
            [".btsnoop", ".pcapng", ".hex"].contains { name.hasSuffix($0) }
        }.sorted() ?? []
    static let formats = CaptureFormat.named.map(\.name)

    /// The lines of `drinks --json`, without the record numbers.
    static func drinks(_ path: String) throws -> [String] {
        var bytes: [UInt8] = []
        let out = LineBuffer { bytes += $0 }
        let lines = DrinkLines(out, isRaw: false)
        let reader = DrinkReader(DrinkReader.Options(hostYear: 2026)) { lines.json($0) }
        var file = CaptureFile(path: path)
        try reader.read(&file)
        try out.flush()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
            String($0).replacing(/"frame":\d+/, with: "")
        }
    }

    static func convert(_ paths: String..., to name: String, in folder: TemporaryFolder) throws -> String {
        let format = try #require(CaptureFormat(name: name))
        var converter = CaptureConverter(to: format)
        var bytes: [UInt8] = []
        try converter.convert(paths) { bytes += $0 }
        return try folder.write("\(UUID().uuidString).\(name)", bytes)
    }

    @Test func `the shipped captures exist`() {
        #expect(Self.shipped.count >= 5)
    }

    @Test(arguments: shipped)
    func `a session has the same drinks in every format`(name: String) throws {
        let folder = try TemporaryFolder()
        let source = Self.folder + "/" + name
        let expected = try Self.drinks(source)
        #expect(!expected.isEmpty)
        for format in Self.formats {
            // Text without times cannot be converted to a format that requires them.
            guard let made = try? Self.convert(source, to: format, in: folder) else {
                #expect(expected.allSatisfy { $0.contains("\"capturedAt\":null") }, "\(format)")
                continue
            }
            #expect(
                try Self.drinks(made).map(Self.withoutMissingTime) == expected.map(Self.withoutMissingTime),
                "\(name) as \(format)")
        }
    }

    /// Formats that require a time have zero where none is known.
    private static func withoutMissingTime(_ line: String) -> String {
        line.replacing(/"capturedAt":(null|"1970-01-01T00:00:00.000Z")/, with: "")
    }

    /// Two bottles whose names are never read: the model, and with it the battery, follows from the advertised name
    /// only.
    @Test func `names of several bottles survive every format`() throws {
        let folder = try TemporaryFolder()
        let lines = ["A4:C1:38:01:02:03": "WaterH-Boost-24oz", "A4:C1:38:01:02:04": "WaterH-Bottle-B003"].sorted {
            $0.key < $1.key
        }.enumerated().map { index, bottle in
            """
            address: \(bottle.key)
            name: \(bottle.value)
            2026-02-02T22:2\(index):20Z connected
            2026-02-02T22:2\(index):21Z > FFE9 47 54 00 01 06
            2026-02-02T22:2\(index):22Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00

            """
        }
        let padding = String(repeating: "# a comment, longer than what is read at one time\n", count: 20_000)
        let source = try folder.write("source.hex", (lines[0] + padding + lines[1]).utf8)
        let expected = try Self.drinks(source)
        #expect(expected.count == 2)
        #expect(expected.allSatisfy { $0.contains(#""batteryPercent":97"#) })
        for from in Self.formats {
            let first = try Self.convert(source, to: from, in: folder)
            for to in [from, "hex", "pcap-ll"] {
                #expect(try Self.drinks(Self.convert(first, to: to, in: folder)) == expected, "\(from) to \(to)")
            }
        }
    }
}
