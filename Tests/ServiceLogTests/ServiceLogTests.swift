import CommandKit
import Foundation
import Logging
@testable import ServiceLog
import Testing

@Suite struct ServiceLogTests {
    private static let events: [(level: Logger.Level, text: String, journal: String)] = [
        (.critical, "error: It broke. [bottle=Blue poll=7]", "<2>It broke. [bottle=Blue poll=7]"),
        (.error, "error: It broke. [bottle=Blue poll=7]", "<3>It broke. [bottle=Blue poll=7]"),
        (.warning, "warning: It broke. [bottle=Blue poll=7]", "<4>It broke. [bottle=Blue poll=7]"),
        (.notice, "It broke. [bottle=Blue poll=7]", "<5>It broke. [bottle=Blue poll=7]"),
        (.info, "It broke. [bottle=Blue poll=7]", "<6>It broke. [bottle=Blue poll=7]"),
        (.debug, "It broke. [bottle=Blue poll=7]", "<7>It broke. [bottle=Blue poll=7]"),
    ]

    @Test(arguments: events) func oneEventInEachFormat(_ event: (level: Logger.Level, text: String, journal: String)) {
        let line = LogLine(level: event.level, message: "It broke.", metadata: [("bottle", "Blue"), ("poll", "7")])
        #expect(line.text(.text, time: "") == event.text)
        #expect(line.text(.journal, time: "") == event.journal)
        #expect(
            line.text(.json, time: "2026-06-15T08:00:00.000Z")
                == #"{"time":"2026-06-15T08:00:00.000Z","level":"\#(event.level.rawValue)","message":"It broke.","bottle":"Blue","poll":"7"}"#)
    }

    /// In a file nobody else says when it was.
    @Test func aLineOfTextBeginsWithItsTimeWhereNoTerminalShowsIt() throws {
        let pipe = Pipe()
        let handler = ServiceLogHandler(.text, isTimed: true, output: TextOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor), time: { Date(timeIntervalSince1970: 0) })
        Logger(label: "test") { _ in handler }.warning("It broke.", metadata: ["poll": "7"])
        try pipe.fileHandleForWriting.close()
        #expect(String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) == "1970-01-01T00:00:00.000Z warning: It broke. [poll=7]\n")
        // The journal has its own, and JSON a key.
        let line = LogLine(level: .notice, message: "It works.", metadata: [])
        #expect(line.text(.journal, isTimed: true, time: "now") == "<5>It works." && line.text(.text, time: "now") == "It works.")
    }

    /// A name from the air stays inside its line, and inside its JSON string.
    @Test(arguments: LogFormat.allCases) func anEventIsOneLineWhateverIsInIt(format: LogFormat) throws {
        let pipe = Pipe()
        let output = TextOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let handler = ServiceLogHandler(format, output: output, time: { Date(timeIntervalSince1970: 0) })
        let log = Logger(label: "test") { _ in handler }
        log.warning("A bottle\n<0>called \u{1B}[2J\u{85}\u{202E} answers.", metadata: ["bottle": "x\ny\" z"])
        log.debug("Nobody asked.")
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(text.filter { $0 == "\n" }.count == 1 && text.hasSuffix("\n"), "\(text)")
        #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}") && !text.contains("Nobody"))
        if format == .json {
            let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
            #expect(object["time"] == "1970-01-01T00:00:00.000Z")
            #expect(object["bottle"] == "x\ny\" z")
            #expect(object["level"] == "warning")
        }
    }

    @Test func theJournalIsRecognisedByItsDeviceAndInode() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        var status = stat()
        fstat(descriptor, &status)
        #expect(LogFormat.usual(["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino)"], descriptor: descriptor) == .journal)
        #expect(LogFormat.usual(["JOURNAL_STREAM": "8:1"], descriptor: descriptor) == .text)
        #expect(LogFormat.usual([:], descriptor: descriptor) == .text)
    }
}
