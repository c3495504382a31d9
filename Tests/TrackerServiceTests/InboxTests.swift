import Foundation
import Store
import Support
import Testing
import TrackerCore
import TrackerService

@Suite struct InboxTests {
    private let fixture: TrackerFixture
    private let folder: TemporaryFolder

    init() throws {
        (fixture, folder) = (try TrackerFixture(), try TemporaryFolder())
        _ = try fixture.tracker().set([("health.inbox", folder.path)])
    }

    private func put(_ name: String, _ lines: [String]) throws {
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder.url(name))
    }
    private func take() throws -> [String] { try fixture.tracker().importInbox().map(\.summary) }

    @Test func `each inbox file is imported once and again after a change`() throws {
        #expect(try take() == [])
        try put("b.csv", ["startDate,value_ml", "2026-06-15T08:00:00+02:00,250"])
        try put("a.csv", ["startDate,value_ml", "2026-06-15T09:00:00+02:00,100", "2026-06-14T09:00:00+02:00,200"])
        try put(".hidden.csv", ["startDate,value_ml", "2026-06-15T09:30:00+02:00,999"])
        #expect(try take() == ["a.csv: 2 drinks added, 0 known already.", "b.csv: 1 drink added, 0 known already."])
        #expect(try take() == [])
        #expect(try fixture.tracker().state().pace.dailyTotalMl == 350)
        // The phone replaces the file with one more entry.
        try put("b.csv", ["startDate,value_ml", "2026-06-15T08:00:00+02:00,250", "2026-06-15T10:00:00+02:00,30"])
        #expect(try take() == ["b.csv: 1 drink added, 1 known already."])
        #expect(try fixture.tracker().state().pace.dailyTotalMl == 380)
    }

    /// A truncated file is reported once, blocks no other, and is imported when it is complete. A directory or pipe is
    /// skipped.
    @Test func `an unreadable inbox file is reported once`() throws {
        try put("cut.json", ["[{\"startDate\": \"2026-06-15T08:00:00+02:00\", \"value_ml\": 250}, {\"startDate\":"])
        try put("whole.csv", ["startDate,value_ml", "2026-06-15T09:00:00+02:00,100"])
        try FileManager.default.createDirectory(at: folder.url("folder.csv"), withIntermediateDirectories: false)
        #expect(mkfifo(folder.file("pipe.csv"), 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: folder.file("link.csv"), withDestinationPath: "/etc/passwd")
        let first = try take()
        #expect(
            first.count == 2 && first[0].hasPrefix("cut.json was not imported: ")
                && first[1].hasPrefix("whole.csv: 1 drink added"), "\(first)")
        #expect(try take() == [])
        try put("cut.json", ["[{\"startDate\": \"2026-06-15T08:00:00+02:00\", \"value_ml\": 250}]"])
        #expect(try take() == ["cut.json: 1 drink added, 0 known already."])
    }

    @Test func `a file with a future date does not block other files`() throws {
        try put("a.csv", ["startDate,value_ml", "2026-06-20T08:00:00+02:00,250"])
        try put("b.csv", ["startDate,value_ml", "2026-06-15T09:00:00+02:00,100"])
        let told = try take()
        #expect(told.first?.contains("dated in the future") == true && told.last?.hasPrefix("b.csv: 1 drink") == true)
        #expect(try take().count == 1, "it is tried again")
    }

    @Test(.enabled(if: geteuid() != 0, "root can read every file"))
    func `an inbox file is imported when its permissions are corrected`() throws {
        try put("a.csv", ["startDate,value_ml", "2026-06-15T09:00:00+02:00,100"])
        #expect(chmod(folder.file("a.csv"), 0) == 0)
        #expect(try take() == ["a.csv was not imported: Permission denied"])
        #expect(chmod(folder.file("a.csv"), 0o600) == 0)
        #expect(try take() == ["a.csv: 1 drink added, 0 known already."])
    }

    @Test func `a file name that is not UTF-8 is reported`() throws {
        let made = [UInt8](folder.file("Caf").utf8) + [0xE9] + [UInt8](".csv".utf8) + [0]
        let descriptor = made.withUnsafeBufferPointer {
            $0.withMemoryRebound(to: CChar.self) { open($0.baseAddress!, O_WRONLY | O_CREAT, 0o600) }
        }
        try #require(descriptor >= 0)
        close(descriptor)
        try put("whole.csv", ["startDate,value_ml", "2026-06-15T09:00:00+02:00,100"])
        let messages = try take()
        #expect(
            messages.count == 2 && messages[0].contains("not valid UTF-8")
                && messages[1].hasPrefix("whole.csv: 1 drink added"), "\(messages)")
    }

    /// Phones write one file per day and never delete them: new ones are imported however many old ones exist.
    @Test func `many inbox files are imported in order`() throws {
        for number in 0..<450 {
            try put(
                "drinks-\(1000 + number).csv",
                ["startDate,value_ml", "2026-06-14T09:\(10 + number / 60):\(10 + number % 50)+02:00,\(1 + number)"])
        }
        var counts: [Int] = []
        while case let count = try take().count, count > 0 { counts.append(count) }
        #expect(counts == [200, 200, 50])
        try put("drinks-2000.csv", ["startDate,value_ml", "2026-06-15T08:00:00+02:00,250"])
        #expect(try take() == ["drinks-2000.csv: 1 drink added, 0 known already."])
        #expect(try fixture.tracker().state().pace.dailyTotalMl == 250)
    }

    @Test func `rejected inbox files do not block other files`() throws {
        for number in 1000..<1201 { try put("\(number).csv", ["startDate,value_ml", "2026-06-20T08:00:00+02:00,250"]) }
        try put("whole.csv", ["startDate,value_ml", "2026-06-15T09:00:00+02:00,100"])
        #expect(try take().last == "whole.csv: 1 drink added, 0 known already.")
    }

    @Test func `a missing inbox folder is reported`() throws {
        _ = try fixture.tracker().set([("health.inbox", "/nowhere/phone")])
        let messages = try take()
        #expect(
            messages.count == 1 && messages[0].contains("/nowhere/phone") && messages[0].contains("No such file"),
            "\(messages)")
        _ = try fixture.tracker().set([("health.inbox", "")])
        #expect(try take() == [])
    }
}
