import ArgumentParser
import CommandSupport
import Dispatch
import Foundation
import Support
import Testing
import TrackerCore

@testable import CommandSupport

@Suite struct CommandKitTests {
    struct Sample: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "sample", version: "1")
        @Option var fail: Int32?
        @Flag var throwForeign = false

        func run() async throws {
            if let fail {
                throw CommandFailure(ExitStatus(rawValue: fail) ?? .failed, "It failed.", advice: "Try again.")
            }
            if throwForeign { throw CocoaError(.fileNoSuchFile) }
        }
    }

    @Test(
        arguments: [
            ([], 0), (["--help"], 0), (["--version"], 0), (["--nonsense"], 2), (["--fail", "x"], 2), (["extra"], 2),
            (["--throw-foreign"], 1), (["--fail", "1"], 1), (["--fail", "3"], 3), (["--fail", "4"], 4),
            (["--fail", "5"], 5), (["--fail", "130"], 130),
        ] as [([String], Int32)])
    func `exit codes are stable`(_ arguments: [String], _ expected: Int32) async {
        #expect(await CommandRunner.run(Sample.self, arguments) == expected)
    }

    @Test func `JSON keeps the order of keys and escapes strings`() throws {
        let value: JSONValue = [
            "b": .int(1), "a": .array([.null, true, .string("x\"\\\n\u{1}ü")]), "n": JSONValue(nil as Int?),
            "d": .double(0.1), "w": .double(3), "i": .double(.nan),
        ]
        #expect(value.text == #"{"b":1,"a":[null,true,"x\"\\\n\u0001ü"],"n":null,"d":0.1,"w":3,"i":null}"#)
        #expect(try JSONSerialization.jsonObject(with: Data(value.text.utf8)) is [String: Any])
    }
}

/// CLI spec C2.
@Suite struct ExitStatusTests {
    private struct Failure: Problem {
        var code = "trouble"
        var category: ProblemCategory
        var sentence = "It is so."
    }

    @Test
    func `each problem category has its exit code`() {
        let codes = Dictionary(
            uniqueKeysWithValues: ProblemCategory.allCases.map {
                ($0.rawValue, CommandFailure(Failure(category: $0)).status.rawValue)
            })
        #expect(
            codes == [
                "notFound": 3, "refused": 3, "invalid": 2, "damaged": 4, "busy": 1, "diskFull": 1, "failed": 1,
            ])
        #expect(CommandFailure(Refusal("noSuchSetting", "There is no such setting.")).status == .wrongUse)
    }
}

/// Server-sent events in an HTTP response, split at any position.
@Suite struct EventReaderTests {
    private static let answer: [UInt8] = {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunks = [
            "retry: 2000\n\n", ": ping\n\n", "event: hello\nid: 1\ndata: {\"a\":1}\n", "\n",
            "event: show\ndata: é\ndata: b\n\n",
        ]
        let body = chunks.map { "\(String($0.utf8.count, radix: 16));x=y\r\n\($0)\r\n" }.joined()
        return Array("\(head)\(body)0\r\n\r\n".utf8)
    }()

    @Test(arguments: [1, 2, 3, 7, 1000]) func `events are the same when split at any byte`(size: Int) throws {
        var (response, reader) = (HTTPResponseReader(), EventReader())
        var events: [EventReader.Event] = []
        var rest = Self.answer[...]
        while !rest.isEmpty {
            events += try reader.read(response.read(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        #expect(events.map { "\($0.name) \($0.data)" } == ["hello {\"a\":1}", "show é\nb"] && response.isComplete)
    }

    @Test(arguments: [
        "SSH-2.0\r\n\r\n\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    ])
    func `an invalid response is an error`(answer: String) {
        var response = HTTPResponseReader()
        #expect(throws: HTTPResponseReader.Malformed.self) { try response.read(Array(answer.utf8)) }
    }

    @Test func `an endless response or event is an error`() throws {
        var (response, reader) = (HTTPResponseReader(), EventReader())
        let piece = [UInt8](repeating: 65, count: (1 << 19) + 1)
        #expect(throws: HTTPResponseReader.Malformed.self) { for _ in 0..<2 { _ = try response.read(piece) } }
        #expect(throws: EventReader.Malformed.self) { for _ in 0..<2 { _ = try reader.read(piece) } }
    }
}

/// The host's time zone can change while the service runs, so it is read each time.
@Suite struct HostZoneTests {
    @Test func `the time zone link is read at each use`() throws {
        let folder = try TemporaryFolder()
        let link = folder.file("localtime")
        func zone(_ variables: [String: String] = [:]) -> String {
            HostZone.id(variable: variables["TZ"], localtime: link, timezone: folder.file("timezone"))
        }
        for (target, expected) in [
            ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
            ("../usr/share/zoneinfo/America/New_York", "America/New_York"),
            ("/usr/share/zoneinfo/posix/Asia/Tokyo", "Asia/Tokyo"),
        ] {
            try? FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            #expect(zone() == expected)
        }
        #expect(
            zone(["TZ": "Europe/Lisbon"]) == "Europe/Lisbon"
                && zone(["TZ": ":/usr/share/zoneinfo/Asia/Kathmandu"]) == "Asia/Kathmandu")
        for name in ["Etc/GMT+5", "US/Eastern", "UTC"] {
            #expect(zone(["TZ": name]) == name, "a zone that Foundation's list leaves out")
        }
        #expect(zone(["TZ": ""]) == "Asia/Tokyo" && zone(["TZ": ":" + link]) == "Asia/Tokyo")
        // A symbolic link to a link, then a copy next to a named file.
        try FileManager.default.moveItem(atPath: link, toPath: folder.file("other"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "other")
        #expect(zone() == "Asia/Tokyo")
        try FileManager.default.removeItem(atPath: link)
        try folder.write("Australia/Lord_Howe\n", to: "timezone")
        #expect(zone() == "Australia/Lord_Howe")
    }

    /// Days and the bottle's clock depend on the zone: UTC as a fallback would shift both.
    @Test(arguments: ["JST-9", ":Mars/Olympus"]) func `a time zone without an IANA name is an error`(variable: String)
        async throws
    {
        let home = try Home(["TZ": variable, "WATERH_ZONE": ""])
        for (program, line) in [(Program.tracker, "status"), (.gateway, "poll --link unix:x")] {
            let result = try await home.run(program, line)
            result.expect(2, error: "is not an IANA name")
        }
        #expect(try await home.tracker("status --zone Asia/Tokyo").exitCode == 0)
    }
}

@Suite struct ProgramTests {
    /// A parent process that blocks SIGTERM passes its mask on.
    @Test func `a command started with SIGTERM blocked still ends on SIGTERM`() async throws {
        let environment = try #require(Program(system: "env"))
        let folder = try TemporaryFolder()
        let running = try environment.start([
            "--block-signal=TERM", Program.emulator.path, "run", "--link", "unix:" + folder.file("b"), "--control",
            "unix:" + folder.file("c"),
        ])
        _ = try await running.line { $0.hasPrefix("ready ") }
        running.send(signal: SIGTERM)
        let result = try await running.finish(limit: 20)
        #expect(!result.signalled && result.exitCode == 0)
    }
}
