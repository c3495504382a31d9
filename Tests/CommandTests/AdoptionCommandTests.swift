import Foundation
import Support
import Testing

/// No bottle responds at the radio links: the command rejects the request before it uses the link.
@Suite struct AdoptionCommandTests {
    @Test(
        arguments: ["bluez", "hci:127.0.0.1:9", "esphome:127.0.0.1"],
        [["poll"], ["poll", "--json"], ["send", "flash"]])
    func `a command without a terminal rejects an unnamed bottle`(
        _ link: String, _ words: [String]
    ) async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("w.sqlite")
        let result = try await Program("waterh-gateway").run(words + ["--link", link, "--store", store])
        #expect(result.exitCode == 3 && result.error.contains("no bottle"), "\(result.error)")
        #expect(result.error.contains("waterh-gateway poll --store \(store) --bottle ADDRESS"), "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: store))
    }

    @Test func `adopt sets the mode of the store for the first bottle and of the bottle for the second`() async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("w.sqlite")
        func run(_ program: String, _ words: String...) async throws -> String {
            let result = try await Program(program).run(words + ["--store", store])
            #expect(result.exitCode == 0, "\(result.error)")
            return result.output
        }
        #expect(
            try await run("waterh-gateway", "adopt", "A4:C1:38:00:00:01", "--mode", "share")
                == "Adopted A4:C1:38:00:00:01.\n")
        #expect(try await run("waterh-tracker", "settings", "get", "bottle.mode") == "share\n")
        _ = try await run("waterh-gateway", "adopt", "A4:C1:38:00:00:02", "--mode", "take-over", "--json")
        #expect(try await run("waterh-tracker", "settings", "get", "bottle.mode") == "share\n")
        #expect(
            try await run("waterh-tracker", "settings", "get", "bottle.mode", "--bottle", "A4:C1:38:00:00:02")
                == "take-over\n")
    }

    @Test func `a shared bottle keeps its log, its clock and its goal`() async throws {
        let pair = try await Pair(["--capture", "captures/boost_two-days.btsnoop"])
        _ = try await Program("waterh-tracker").run(
            ["settings", "set", "bottle.mode", "share", "bottle.showGoal", "true", "--store", pair.store])
        func status() async throws -> [String: Any] {
            let result = try await Program("waterh-emulator").run(
                ["control", "--control", pair.control, "status", "--json"])
            return try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any] ?? [:]
        }
        let before = try await status()
        let poll = try await pair.poll(["--trust-clock"])
        let after = try await status()
        #expect(poll.exitCode == 0 && poll.object["received"] as? Int == 40, "\(poll.error)")
        #expect(after["records"] as? Int == 40 && after["acknowledged"] as? Int == 0, "\(after)")
        for key in ["goalMl", "amountMl", "light", "blinks"] {
            #expect("\(before[key] ?? "")" == "\(after[key] ?? "")", "\(key)")
        }
    }

    @Test(arguments: [9, 10, 11, 12, 31]) func `a command reports a limit of open files that is too low`(
        _ limit: Int
    ) async throws {
        let folder = try TemporaryFolder()
        let gateway = Program("waterh-gateway").path
        let result = try await Program(path: "/bin/sh").run([
            "-c", "ulimit -n \(limit); exec \(gateway) poll --link unix:\(folder.path)/b.sock --store \(folder.path)/w",
        ])
        #expect(
            result.exitCode == 1 && result.error.contains("only \(limit) open files are allowed"), "\(result.error)")
    }
}
