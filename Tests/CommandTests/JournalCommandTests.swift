import Foundation
import Store
import Support
import Testing
import TrackerCore

@Suite struct JournalCommandTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.url("waterh.sqlite").path
    }

    /// Stores a record of 2026-06-15 14:20 that is quarantined for the given reason.
    private func keep(_ reason: String, ml: Int = 300, month: UInt8 = 6, about: Instant? = nil) throws {
        let raw: [UInt8] = [0x1A, month, 15, 14, 20, 0, UInt8(ml >> 8), UInt8(ml & 255), 0, 0, 1, 0x61, 0]
        let received = try #require(Instant(iso: "2026-06-15T15:00:00Z"))
        _ = try TrackerStore(path: path).append([
            JournalEntry(
                bottle: "A4:C1:38:00:00:01", raw: raw, wall: nil, amountMl: ml, received: received,
                verdict: .quarantined(reason: reason), reading: "strict/u8", about: about)
        ])
    }

    private func tracker(_ arguments: String...) async throws -> (exitCode: Int32, text: String, error: String) {
        let result = try await Program("waterh-tracker").run(
            arguments + ["--store", path, "--now", "2026-06-15T16:00:00Z", "--zone", "UTC"])
        return (result.exitCode, result.output, result.error)
    }

    private func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func `list and show: raw bytes, reasons, what is known`() async throws {
        #expect(try await tracker("log", "100").exitCode == 0)
        #expect(try await tracker("journal").text == "All records from the bottle are dated and counted.\n")
        try keep(JournalDoubt.refused)
        try keep(JournalDoubt.bottleClock, month: 4, about: Instant(iso: "2026-06-15T14:00:00Z"))
        try TrackerStore(path: path).quarantine(
            bottle: "A4:C1:38:00:00:01", bytes: [1, 2, 0xAB], reason: "no frame",
            received: Instant(seconds: 1_781_000_000))
        let list = try await tracker("journal", "list").text
        for words in [
            "2 records kept and not counted", "1 rejected by the dialect", "1A 06 0F 0E 14 00 01 2C 00 00 01 61 00",
            "probably about 2026-06-15 14:00", "01 02 AB  no frame", "journal resolve",
        ] { #expect(list.contains(words), "\(words) is not in:\n\(list)") }
        let json = try object(try await tracker("journal", "list", "--json").text)
        let records = try #require(json["records"] as? [[String: Any]])
        #expect(records.map { $0["id"] as? String } == ["r1", "r2"])
        #expect(
            records[0]["raw"] as? String == "1a060f0e1400012c0000016100"
                && records[0]["reason"] as? String == "refusedByDialect")
        #expect((json["junk"] as? [[String: Any]])?.first?["raw"] as? String == "0102ab")
        #expect(try await tracker("journal", "show", "r2").text.contains("written while the bottle's clock was wrong"))
        let missing = try await tracker("journal", "show", "r9")
        #expect(missing.exitCode == 3 && missing.error.contains("journal list"))
        #expect(try await tracker("journal", "show", "nonsense").exitCode == 2)
        let doctor = try await tracker("check", "--doctor").text
        #expect(
            doctor.contains("2 not counted") && doctor.contains("waterh-tracker journal list"))
    }

    @Test func `resolve reads them again by the settings of now`() async throws {
        try keep(JournalDoubt.refused)
        try keep(JournalDoubt.hostClock, month: 5)
        try keep(JournalDoubt.bottleClock, month: 4)
        let result = try await tracker("journal", "resolve", "--json")
        let json = try object(result.text)
        #expect(json["resolved"] as? Int == 1 && json["waiting"] as? Int == 2, "\(result)")
        #expect(try TrackerStore(path: path).drinks(on: try #require(LocalDay("2026-06-15"))).map(\.ml) == [300])
        #expect(try object(try await tracker("journal", "resolve", "--json").text)["resolved"] as? Int == 0)
        // A clock earlier than the newest receipt dates no record.
        try TrackerStore(path: path).finishPoll(
            PollRecord(
                bottle: "A4:C1:38:00:00:01", endedAt: try #require(Instant(iso: "2026-09-01T00:00:00Z")), complete: true
            ))
        let refused = try await tracker("journal", "resolve")
        #expect(refused.exitCode == 3 && refused.error.contains("2026-09-01"))
    }

    @Test func `set dates one by hand, for good`() async throws {
        try keep(JournalDoubt.bottleClock)
        let set = try await tracker("journal", "set", "r1", "--at", "2026-06-15T14:00", "--json")
        let json = try object(set.text)
        #expect((json["drink"] as? [String: Any])?["at"] as? String == "2026-06-15T14:00:00Z")
        #expect((json["drink"] as? [String: Any])?["ml"] as? Int == 300)
        #expect(try await tracker("journal", "set", "r1", "--at", "13:00").exitCode == 3)
        #expect(try await tracker("journal", "set", "r7", "--at", "13:00").exitCode == 3)
        // The same bytes from the bottle are the same record.
        let store = try TrackerStore(path: path)
        let again = JournalEntry(
            bottle: "A4:C1:38:00:00:01", raw: [0x1A, 6, 15, 14, 20, 0, 1, 44, 0, 0, 1, 0x61, 0],
            wall: WallTime("2026-06-15T14:20:00"), amountMl: 300, received: Instant(seconds: 1_781_540_000),
            verdict: .drink(at: try #require(Instant(iso: "2026-06-15T14:20:00Z")), zone: "UTC"),
            reading: "calendar/u16be")
        #expect(try store.append([again]) == [.duplicate])
        #expect(try store.drinks(on: try #require(LocalDay("2026-06-15"))).count == 1)
        #expect(try await tracker("journal", "set", "r1", "--at", "2026-06-16T14:00").exitCode == 3)
    }

    @Test func `another bottle is reported and read only after its adoption`() async throws {
        let first = try await Pair()
        let second = try await Pair(["--address", "A4:C1:38:00:00:77", "--name", "WaterH-Bottle-1"])
        try await first.sip(100)
        try await second.sip(200)
        let gateway = Program("waterh-gateway")
        let adopted = try await gateway.run(["poll", "--link", first.socket, "--store", path])
        #expect(
            adopted.exitCode == 0 && adopted.output.contains("Adopted: WaterH-Boost-24oz"))
        let refused = try await gateway.run(["poll", "--link", second.socket, "--store", path])
        #expect(
            refused.exitCode == 3 && refused.error.contains("waterh-gateway adopt --store \(path) 'A4:C1:38:00:00:77'"),
            "\(refused.error)")
        #expect(try TrackerStore(path: path).journalCounts().drinks == 1)
        #expect(
            try await gateway.run(["adopt", "a4:c1:38:00:00:77", "--store", path]).output
                == "Adopted A4:C1:38:00:00:77.\n")
        let drained = try await gateway.run(["poll", "--link", second.socket, "--store", path, "--json"])
        #expect(drained.exitCode == 0 && drained.output.contains(#""new":1"#))
        #expect(!drained.output.contains("adopted"))
        #expect(try await gateway.run(["poll", "--link", first.socket, "--store", path]).exitCode == 0)
        #expect(try await gateway.run(["adopt", "X", "--as", "nobody", "--store", path]).exitCode == 3)
    }

    @Test func `two bottles of one name keep two aliases`() async throws {
        let pairs = [
            try await Pair(["--address", "A4:C1:38:00:00:01"]), try await Pair(["--address", "A4:C1:38:00:00:02"]),
        ]
        let gateway = Program("waterh-gateway")
        func called(_ pair: Pair) async throws -> [String?] {
            let result = try await gateway.run(["poll", "--link", pair.socket, "--store", path, "--json"])
            let poll = try object(result.output)
            return [
                poll["bottle"] as? String,
                ((poll["state"] as? [String: Any])?["bottle"] as? [String: Any])?["name"] as? String,
            ]
        }
        for (pair, address) in zip(pairs, ["A4:C1:38:00:00:01", "A4:C1:38:00:00:02"]) {
            _ = try await gateway.run(["adopt", address, "--store", path])
            #expect(try await called(pair) == [address, address])
        }
        for (name, address) in [("kitchen", "A4:C1:38:00:00:01"), ("office", "A4:C1:38:00:00:02")] {
            #expect(try await tracker("settings", "set", "bottle.alias", name, "--bottle", address).exitCode == 0)
        }
        #expect(try await called(pairs[0]) == ["kitchen", "kitchen"])
        #expect(try await called(pairs[1]) == ["office", "office"])
    }
}
