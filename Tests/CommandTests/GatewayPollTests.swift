import Foundation
import Support
import Testing

@Suite struct GatewayPollTests {
    static let keys: Set<String> = [
        "bottle", "name", "profile", "model", "batteryPercent", "clockDriftSeconds", "received", "new", "duplicates", "suspect",
        "quarantined", "acknowledged", "unconfirmed", "complete", "seconds", "state", "address", "resolved",
    ]

    @Test(arguments: ["retail", "draft"]) func twoPollsOneSipAndAPoll(_ profile: String) async throws {
        let pair = try await Pair(["--profile", profile])
        for ml in [100, 200, 300] { try await pair.sip(ml) }
        let first = try await pair.poll()
        #expect(first.exitCode == 0, "\(first.error)")
        // The first poll of an empty store adopts the bottle, and says so.
        #expect(Set(first.object.keys) == Self.keys.union(["adopted"]))
        #expect(first.object["profile"] as? String == profile)
        #expect(first.object["bottle"] as? String == "A4:C1:38:31:D1:D2")
        #expect(first.object["received"] as? Int == 3)
        #expect(first.object["new"] as? Int == 3)
        #expect(first.object["acknowledged"] as? Int == 3)
        #expect(first.object["complete"] as? Bool == true)
        #expect((first.object["state"] as? [String: Any])?["drinkCount"] as? Int == 3)
        let second = try await pair.poll()
        #expect(second.object["received"] as? Int == 0)
        #expect(Set(second.object.keys) == Self.keys)
        try await pair.sip(120)
        #expect(try await pair.poll().object["new"] as? Int == 1)
    }

    @Test func keepLeavesTheLogAndTheNextPollKnowsIt() async throws {
        let pair = try await Pair()
        for ml in [100, 200] { try await pair.sip(ml) }
        let first = try await pair.poll(["--keep"])
        #expect(first.object["acknowledged"] as? Int == 0)
        let second = try await pair.poll()
        #expect(second.object["duplicates"] as? Int == 2)
        #expect(second.object["new"] as? Int == 0)
        #expect(second.object["acknowledged"] as? Int == 2)
    }

    @Test func aBadDayEndsInAllDrinks() async throws {
        let pair = try await Pair(["--faults", "hang-up-once=2,interleave=50,early=300"])
        for ml in 1...12 { try await pair.sip(ml) }
        let poll = try await pair.poll()
        #expect(poll.exitCode == 0, "\(poll.error)")
        #expect(poll.object["new"] as? Int == 12)
        #expect((poll.object["recovery"] as? [Any])?.isEmpty == false)
    }

    @Test func nobodyThereIsExitCode5() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program("waterh-gateway").run(
            ["poll", "--link", "unix:" + folder.url("none.sock").path, "--store", folder.url("s.sqlite").path])
        #expect(result.exitCode == 5)
        #expect(result.error.contains("waterh-emulator run --link unix:"))
        #expect(result.output.isEmpty)
    }

    /// The state says what the last poll met, in every program, until one succeeds.
    @Test func howThePollWentStandsInTheState() async throws {
        let pair = try await Pair()
        let tracker = Program("waterh-tracker")
        func state() async throws -> [String: Any] {
            let result = try await tracker.run(["status", "--json", "--store", pair.store])
            return try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result.error)")
        }
        let nobody = try await Program("waterh-gateway").run(["poll", "--link", "unix:\(pair.folder.path)/nobody", "--store", pair.store])
        #expect(nobody.exitCode == 5)
        let bad = try await state()
        #expect(bad["connection"] as? String == "error")
        #expect(bad["connectionError"] as? String == nobody.error.firstMatch(of: /error: (Bottle not found|Failed to connect)/).map { String($0.1) }, "\(nobody.error)")
        #expect(bad["hint"] is String)
        #expect(try await pair.poll().exitCode == 0)
        let good = try await state()
        #expect(good["connection"] as? String == "disconnected")
        #expect(good["connectionError"] is NSNull && good["hint"] is NSNull)
        let bottle = try #require(good["bottle"] as? [String: Any])
        #expect(bottle["batteryPercent"] is Int && bottle["lastCompletePoll"] is Int, "\(bottle)")
    }

    @Test func anotherBottleIsExitCode5() async throws {
        let pair = try await Pair()
        let poll = try await pair.poll(["--bottle", "A4:C1:38:00:00:01"])
        #expect(poll.exitCode == 5)
        #expect(poll.error.contains("not A4:C1:38:00:00:01"))
    }

    @Test(arguments: [["poll", "--link", "pigeon:1"], ["poll", "--nonsense"], ["send", "--link", "unix:/x", "goal", "much"], ["scan", "--seconds", "0"]])
    func wrongUseIsExitCode2(_ arguments: [String]) async throws {
        #expect(try await Program("waterh-gateway").run(arguments).exitCode == 2)
    }

    @Test func aStoreOfAnotherKindIsExitCode4AndNothingIsAcknowledged() async throws {
        let pair = try await Pair()
        try await pair.sip(100)
        try Data("this is no database, and it is longer than a header".utf8).write(to: URL(fileURLWithPath: pair.store))
        let result = try await Program("waterh-gateway").run(pair.pollArguments)
        #expect(result.exitCode == 4)
        #expect(result.error.contains(pair.store))
        try FileManager.default.removeItem(atPath: pair.store)
        #expect(try await pair.poll().object["new"] as? Int == 1)
    }

    @Test func sendGetsAnAnswer() async throws {
        let pair = try await Pair()
        let result = try await Program("waterh-gateway").run(["send", "--link", pair.socket, "goal", "1800", "--json"])
        #expect(result.exitCode == 0)
        #expect(result.output.contains(#""answer":"52 50 00 04 03 05 07 08""#))
    }

    /// A bottle that belongs to another store is told nothing, until it is named.
    @Test func sendLeavesAnotherBottleAlone() async throws {
        let pair = try await Pair(["--address", "A4:C1:38:09:09:09"])
        let gateway = Program("waterh-gateway")
        #expect(try await gateway.run(["adopt", "A4:C1:38:01:02:03", "--store", pair.store]).exitCode == 0)
        let send = ["send", "--link", pair.socket, "--store", pair.store, "goal", "1800"]
        let refused = try await gateway.run(send)
        #expect(refused.exitCode == 3 && refused.output.isEmpty && refused.error.contains("nothing was sent to it"), "\(refused.error)")
        #expect(try await gateway.run(send + ["--bottle", "A4:C1:38:09:09:09"]).exitCode == 0)
        #expect(try await gateway.run(["adopt", "A4:C1:38:09:09:09", "--store", pair.store]).exitCode == 0)
        #expect(try await gateway.run(send).exitCode == 0)
    }

    @Test func doctorSaysWhatIsMissing() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program("waterh-gateway").run(
            ["doctor", "--json", "--link", "unix:" + folder.url("none.sock").path, "--store", folder.url("s.sqlite").path])
        let object = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
        // No bottle is there, and nothing else is wrong.
        #expect(result.exitCode == 5)
        #expect(object?["ok"] as? Bool == false)
        let checks = try #require(object?["checks"] as? [[String: Any]])
        #expect(checks.allSatisfy { $0["check"] is String && $0["found"] is String && ["good", "note", "bad"].contains($0["status"] as? String) })
        #expect(checks.allSatisfy { $0["status"] as? String != "bad" || $0["advice"] is String }, "each fault comes with what to do")
        #expect(checks.contains { ($0["check"] as? String)?.hasPrefix("kernel") == true })
        #expect(!FileManager.default.fileExists(atPath: folder.url("s.sqlite").path), "doctor writes nothing")
    }

    @Test func doctorNamesABadStoreBeforeAnAbsentBottle() async throws {
        let folder = try TemporaryFolder()
        try Data("this is no database, and it is longer than a header".utf8).write(to: folder.url("s.sqlite"))
        let result = try await Program("waterh-gateway").run(
            ["doctor", "--link", "unix:" + folder.url("none.sock").path, "--store", folder.url("s.sqlite").path])
        #expect(result.exitCode == 1 && result.output.contains("BAD  store: "), "\(result.output)")
    }

    @Test func demoOnceShowsTwoPollsAndWritesOnlyUnderATemporaryDirectory() async throws {
        let folder = try TemporaryFolder()
        let temporary = folder.url("tmp"), home = folder.url("home")
        for url in [temporary, home] { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        let result = try await Program("waterh-gateway").run(
            ["demo", "--once"], environment: ["TMPDIR": temporary.path, "HOME": home.path, "XDG_STATE_HOME": home.path], directory: home.path)
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(result.output.contains("Second poll:\n  0 new"))
        #expect(result.output.contains("Today: "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
    }
}
