import BottleProtocol
import Foundation
import Support
import Testing

/// The Wireshark dissector in tshark shows the same drinks and commands as `waterh-replay`, and none for other devices.
@Suite struct DissectorTests {
    let replay = Program("waterh-replay")
    static let folder = Program.repository + "/captures"
    static let dissector = Program.repository + "/Sources/CReport/pages/waterh.lua"

    /// One row for each frame in which the dissector shows a field.
    private func rows(_ path: String, _ fields: [String], twice: Bool = false) async throws -> [[String]] {
        let result = try await Tshark().program.run(
            ["-X", "lua_script:\(Self.dissector)", "-r", path] + (twice ? ["-2"] : []) + [
                "-Y", "waterh", "-T", "fields", "-E", "aggregator=;",
            ] + fields.flatMap { ["-e", $0] }, limit: 120)
        #expect(!result.error.contains("Lua"), "\(result.error)")
        #expect(!result.output.contains("Lua Error"), "\(result.output)")
        return result.output.split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
    }

    private struct Drink: Decodable, Hashable {
        var raw: String
        var at: String?
        var amountMl: Int
        var frame: Int
        var suspect: Bool
    }

    private struct Command: Decodable, Hashable {
        var frame: Int
        var hex: String
        var meaning: String
    }

    /// Compares the dissector, with one and with two passes of tshark, with `drinks --raw` and `commands`.
    private func compare(_ path: String) async throws -> (drinks: Int, commands: Int) {
        let ours = try await replay.run(["drinks", path, "--raw", "--json"]).lines.map {
            try JSONDecoder().decode(Drink.self, from: Data($0.utf8))
        }
        let asked = try await replay.run(["commands", path, "--json"]).lines.map {
            try JSONDecoder().decode(Command.self, from: Data($0.utf8))
        }
        for twice in [false, true] {
            let rows = try await rows(
                path,
                [
                    "frame.number", "waterh.record", "waterh.at", "waterh.amount", "waterh.suspect", "waterh.command",
                    "btatt.value",
                ], twice: twice)
            var shown: [Drink] = []
            for row in rows where !row[1].isEmpty {
                let parts = row[1...4].map { $0.split(separator: ";").map(String.init) }
                for index in parts[0].indices {
                    shown.append(
                        Drink(
                            raw: parts[0][index].replacingOccurrences(of: ":", with: ""), at: parts[1][index],
                            amountMl: try #require(Int(parts[2][index])), frame: try #require(Int(row[0])),
                            suspect: parts[3][index] == "1" || parts[3][index] == "True"))
                }
            }
            #expect(shown.map(\.raw) == ours.map(\.raw), "\(path)")
            #expect(shown.map(\.amountMl) == ours.map(\.amountMl), "\(path)")
            for (one, other) in zip(shown, ours) {
                #expect(
                    one.suspect == other.suspect && (other.suspect || one.at == other.at), "\(path): \(one) \(other)")
            }
            #expect(
                rows.filter { !$0[5].isEmpty }.map {
                    "\($0[0]) \($0[6].replacingOccurrences(of: ":", with: "")) \($0[5])"
                } == asked.map { "\($0.frame) \($0.hex) \($0.meaning)" }, "\(path)")
        }
        return (ours.count, asked.count)
    }

    @Test(arguments: ["boost_two-days.btsnoop", "vita_reports-inside-log.pcapng", "boost_draft.btsnoop"])
    func `the dissector shows the drinks and commands of the shipped captures`(name: String) async throws {
        let found = try await compare("\(Self.folder)/\(name)")
        #expect(found.drinks >= 20 && found.commands >= 4)
    }

    @Test(arguments: [("boost_one-record.hex", "pcap"), ("boost_sixteen-records-cut.hex", "pcapng-ll")])
    func `the dissector shows the published samples`(name: String, format: String) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("sample")
        #expect(try await replay.run(["convert", "\(Self.folder)/\(name)", path, "--format", format]).exitCode == 0)
        #expect(try await compare(path).drinks >= 1)
    }

    @Test func `the dissector ignores a peripheral that is not a bottle`() async throws {
        for path in RealCaptures.files {
            #expect(try await rows(path, ["frame.number"]).isEmpty, "\(path)")
        }
    }

    /// Every command with its parameter limits, by the names of the specification, and a log cut at each length.
    @Test func `the dissector shows every command and a log truncated at any length`() async throws {
        let folder = try TemporaryFolder()
        let record = "1A 02 02 16 15 0F 00 10 00 00 01 61 00 ", other = "1A 02 02 16 16 0F 01 2C 00 00 01 61 00 ",
            lost = "00 00 00 00 00 07 00 2D 00 00 01 61 01 "
        let commands = [
            "4754 0001 FF", "4754 0001 06", "4754 0001 28", "5250 0004 03 06 000D", "5250 0004 03 06 0208",
            "5250 0004 03 06 0007", "5054 0003 02 1C 05", "5054 0014 03 05 09C4 07 03 1A0202161B0F 07 26 010800140041",
            "5054 0004 03 05 FFFF", "5054 0008 07 03 1A0C1F173B3A", "5054 0004 03 04 0000",
            "5054 0008 07 26 050800140041", "5054 0003 02 1D 01", "5054 0006 05 FB 03 0080FF",
            "5054 0006 05 FB 04 0080FF", "5054 0003 02 1C 01", "5054 0003 02 1B 07",
            "5054 0003 02 A1 01", "5054 0003 02 A6 01", "5054 0003 02 F4 00", "5054 0003 02 F4 01",
            "5054 0005 04 20 010203", "5054 0000", "5054 0001", "FF", "01", "5054 0006 02 1D 01 02 1D 01",
        ]
        var text = "address: A4:C1:38:01:02:03\nname: WaterH-Boost-24oz\n2026-02-02T22:00:00Z connected\n"
        for (index, command) in commands.enumerated() { text += "2026-02-02T22:\(10 + index):00Z > FFE9 \(command)\n" }
        let log = ("28 06 " + record + other + lost + "0E 06 1A 02 02 16 17 0F 00 11 00 00 01 61 00").split(
            separator: " "
        ).map(String.init)
        let frame = ["50", "54", "00", String(log.count, radix: 16, uppercase: true)] + log
        for (turn, size) in [7, 13, 20, 58].enumerated() {
            text +=
                """
                2026-02-02T22:\(40 + turn):00Z > FFE9 4754000106\n2026-02-02T22:\(40 + turn):01Z < FFE4 5250 0003 \
                02 06 01\n
                """
            for (index, start) in stride(from: 0, to: frame.count, by: size).enumerated() {
                text +=
                    """
                    2026-02-02T22:\(40 + turn):02.\(100 + index)Z < FFE4 \
                    \(frame[start..<min(frame.count, start + size)].joined(separator: " "))\n
                    """
            }
        }
        let source = folder.file("all.hex"), path = folder.file("all.pcapng")
        try text.write(toFile: source, atomically: true, encoding: .utf8)
        #expect(try await replay.run(["convert", source, path]).exitCode == 0)
        let found = try await compare(path)
        #expect(found.commands == commands.count + 4)
        #expect(found.drinks == 16)
    }

    @Test func `the dissector's fields can be used in display filters`() async throws {
        let folder = try TemporaryFolder()
        let script = folder.file("waterh.lua")
        #expect(try await replay.run(["dissector", "-o", script]).exitCode == 0)
        let text = try String(contentsOfFile: Self.dissector, encoding: .utf8)
        #expect(try String(contentsOfFile: script, encoding: .utf8) == text)
        #expect(try await replay.run(["dissector"]).output == text)
        let tshark = try Tshark().program
        let filters = [
            ("waterh.amount > 310", 6), ("waterh.command contains \"acknowledge\"", 1), ("waterh.battery == 97", 2),
            ("waterh.operation == \"RP\"", 6), ("waterh.malformed", 0), ("waterh.suspect == 1", 0),
        ]
        // One row, with the numbers of frames and bytes that match each filter.
        let counted = try await tshark.run([
            "-X", "lua_script:\(script)", "-r", "\(Self.folder)/boost_two-days.btsnoop", "-q", "-z",
            "io,stat,0,\(filters.map(\.0).joined(separator: ","))",
        ])
        let row = try #require(counted.lines.last { $0.contains("<>") }, "\(counted.output)\(counted.error)")
        let numbers = row.split(separator: "|").compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
        #expect(numbers.count == 2 * filters.count, "\(row)")
        for (filter, frames) in zip(filters, stride(from: 0, to: numbers.count, by: 2).map { numbers[$0] }) {
            #expect(frames == filter.1, "\(filter.0)")
        }
    }

    /// The lines between `local NAME = {` and `}`.
    private func table(_ name: String, _ text: String) throws -> [String] {
        let start = try #require(text.range(of: "local \(name) = {\n"))
        let end = try #require(text.range(of: "\n}", range: start.upperBound..<text.endIndex))
        return text[start.upperBound..<end.lowerBound].split(separator: "\n").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }

    @Test func `the constants and mode names of the dissector match BottleProtocol`() throws {
        let text = try String(contentsOfFile: Self.dissector, encoding: .utf8)
        func names(_ values: [(some FixedWidthInteger, String)]) -> [String] {
            values.map { "[\($0)] = \"\($1)\"," }
        }
        func handles(_ uuids: [UInt16]) -> String { uuids.map { "[\($0)] = true" }.joined(separator: ", ") }
        let profiles = BottleProfile.allCases
        for line in [
            "local RESPONSES = { \(handles(profiles.map(\.responseCharacteristic))) }",
            "local COMMANDS = { \(handles(profiles.map(\.commandCharacteristic))) }",
            "local RECORD_SIZE = \(DrinkRecord.size)",
            "local FIRST_YEAR, LAST_YEAR = \(DrinkRecord.plausibleYears.lowerBound), "
                + "\(DrinkRecord.plausibleYears.upperBound)",
        ] { #expect(text.contains(line + "\n"), "\(line)") }
        #expect(
            try table("CHARGING", text) == names((UInt8(0)..<3).map { ($0, ChargingState(rawValue: $0).description) }))
        #expect(try table("REMINDER_MODES", text) == names(ReminderSetting.modeNames.enumerated().map { ($0.0, $0.1) }))
        #expect(try table("LIGHT_MODES", text) == names(ReminderLight.modeNames.map { ($0.mode, $0.name) }))
        for line in try table("WHOLE", text) {
            let parts = line.split(separator: "\"").map(String.init)
            let bytes = parts[1].split(separator: " ").compactMap { UInt8($0, radix: 16) }
            #expect(HostCommand(decoding: bytes).meaning == parts[3], "\(line)")
        }
    }
}
