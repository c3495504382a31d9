@testable import CommandSupport
import Foundation
import Logging
import Testing

@Suite struct ServiceLogTests {
    private static func handler(_ format: LogFormat, hasTime: Bool = false) -> ServiceLogHandler {
        ServiceLogHandler(format, hasTime: hasTime, time: { Date(timeIntervalSince1970: 0) })
    }

    @Test(
        arguments: [
            (.critical, "error: ", 2), (.error, "error: ", 3), (.warning, "warning: ", 4), (.notice, "", 5),
            (.info, "", 6),
            (.debug, "", 7),
        ] as [(Logger.Level, String, Int)])
    func `an event has one line in each format`(_ level: Logger.Level, _ label: String, _ priority: Int) {
        func line(_ format: LogFormat) -> String {
            Self.handler(format).text(level, "It broke.", [("bottle", "Blue"), ("poll", "7")])
        }
        #expect(line(.text) == "\(label)It broke. [bottle=Blue poll=7]")
        #expect(line(.journal) == "<\(priority)>It broke. [bottle=Blue poll=7]")
        let head = #"{"time":"1970-01-01T00:00:00.000Z","level":"\#(level.rawValue)","message":"It broke.""#
        #expect(line(.json) == head + #","bottle":"Blue","poll":"7"}"#)
    }

    @Test func `a line of text starts with its time in a file`() {
        #expect(
            Self.handler(.text, hasTime: true).text(.warning, "It broke.", [("poll", "7")])
                == "1970-01-01T00:00:00.000Z warning: It broke. [poll=7]")
        #expect(Self.handler(.journal, hasTime: true).text(.notice, "It works.", []) == "<5>It works.")
    }

    @Test(arguments: LogFormat.allCases) func `an event with any content is one line`(format: LogFormat) throws {
        let lines = try Self.lines(format) { log in
            log.warning("A bottle\n<0>called \u{1B}[2J\u{85}\u{202E} answers.", metadata: ["bottle": "x\ny\" z"])
            log.debug("Nobody asked.")
        }
        let text = try #require(lines.first)
        #expect(lines.count == 1, "\(lines)")
        #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}") && !text.contains("Nobody"))
        if format == .json {
            let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
            #expect(object["time"] == "1970-01-01T00:00:00.000Z")
            #expect(object["bottle"] == "x\ny\" z")
            #expect(object["level"] == "warning")
        }
    }

    @Test func `the systemd journal is detected by device and inode`() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        var status = stat()
        fstat(descriptor, &status)
        #expect(
            LogFormat.detected(["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)"], descriptor: descriptor)
                == .journal)
        #expect(LogFormat.detected(["JOURNAL_STREAM": "8:1"], descriptor: descriptor) == .text)
        #expect(LogFormat.detected([:], descriptor: descriptor) == .text)
    }

    /// A name from the air must not look like a field of the service.
    @Test func `a value with spaces is quoted`() {
        func text(_ bottle: String) -> String {
            Self.handler(.text).text(.notice, "It works.", [("bottle", bottle), ("poll", "7")])
        }
        #expect(text("A4:C1:38:01:02:03") == "It works. [bottle=A4:C1:38:01:02:03 poll=7]")
        #expect(text("x poll=99] error:") == #"It works. [bottle="x poll=99] error:" poll=7]"#)
        #expect(text(#"x" poll="9\"#) == #"It works. [bottle="x\" poll=\"9\\" poll=7]"#)
        #expect(text("") == #"It works. [bottle="" poll=7]"#)
        // Swift compares a quote with a combining accent as a different character; the bytes still contain the quote.
        #expect(text("x\"\u{301} poll=9").utf8.elementsEqual("It works. [bottle=\"x\\\"\u{301} poll=9\" poll=7]".utf8))
    }

    /// systemd's journal splits lines after 48 KiB. The second part would have a priority and a text of the name.
    @Test(arguments: LogFormat.allCases) func `a line fits the limit of the systemd journal`(format: LogFormat) throws {
        let name = String(repeating: "\u{85}<0>waterh-", count: 3000)
        let line = try Self.lines(format) {
            $0.warning(
                "A bottle called \(name) answers.",
                metadata: ["bottle": "\(name)", "link": "\(name)", "person": "\(name)"])
        }
        #expect(line.count == 1 && line.allSatisfy { $0.utf8.count < 48 << 10 && $0.utf8.count > 4096 })
        if format == .json {
            #expect(
                (try JSONSerialization.jsonObject(with: Data(line.joined().utf8)) as? [String: String])?["message"]?
                    .hasSuffix("…") == true)
        }
    }

    @Test func `the log continues when a full disk has room again`() throws {
        let full = try FileHandle(forWritingTo: URL(fileURLWithPath: "/dev/full"))
        let pipe = Pipe()
        let log = Self.logger(.journal, full.fileDescriptor)
        log.notice("One.")
        #expect(dup2(pipe.fileHandleForWriting.fileDescriptor, full.fileDescriptor) >= 0)
        log.notice("Two.")
        try pipe.fileHandleForWriting.close()
        try full.close()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(text == "<5>Two.\n")
    }

    @Test(.timeLimit(.minutes(20))) func `a stalled reader does not stop the service`() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        _ = fcntl(descriptor, Self.setPipeSize, 8192)
        let log = Self.logger(.text, descriptor)
        let long = String(repeating: "x", count: 3000)
        for number in 1...5 { log.notice("\(number) \(long)") }
        let first = pipe.fileHandleForReading.availableData
        log.notice("Again.")
        try pipe.fileHandleForWriting.close()
        let lines = String(decoding: first + pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(
            separator: "\n")
        // A truncated line ends with a line break.
        #expect(lines.first == "1 \(long)" && lines.last == "Again.", "\(lines.map { $0.prefix(80) })")
    }

    /// `F_SETPIPE_SZ`, which Swift's Glibc module does not import.
    private static let setPipeSize: Int32 = 1031

    private static func logger(_ format: LogFormat, _ descriptor: Int32) -> Logger {
        let handler = ServiceLogHandler(format, descriptor: descriptor, time: { Date(timeIntervalSince1970: 0) })
        return Logger(label: "test") { _ in handler }
    }

    /// The written lines.
    private static func lines(_ format: LogFormat, _ say: (Logger) -> Void) throws -> [Substring] {
        let pipe = Pipe()
        _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, Self.setPipeSize, 1 << 20)
        say(logger(format, pipe.fileHandleForWriting.fileDescriptor))
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(text.hasSuffix("\n"), "\(text)")
        return text.split(separator: "\n")
    }
}
