import Replay
import ArgumentParser
import Captures
import CommandSupport
import Foundation

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Every capture of a folder against the expectation beside it.",
        discussion: """
            The expectation of FILE is FILE.expected.jsonl: a line for the capture, one for each command, one for each \
            delivery of a drink.
            Lines may leave out keys. --update writes them anew from what is read now; look at the change before you \
            keep it.
            Exit code 4 when anything differs.
            """)

    @Argument(help: "The folder with the captures.", completion: .directory)
    var directory: String

    @Flag(help: "Write the expectations anew.")
    var update = false

    @Option(
        help: ArgumentHelp("Write the result as JUnit's XML, too: a test case for each capture.", valueName: "file"),
        completion: .file())
    var junit: String?

    @Flag(help: "Print the result as TAP (Test Anything Protocol, version 13).")
    var tap = false

    private static let suffix = ".expected.jsonl"

    func validate() throws {
        guard !update || (junit == nil && !tap) else {
            throw ValidationError("--update compares nothing; leave out --junit and --tap")
        }
    }

    func run() throws {
        let run = CaptureRun()
        let files = try captures()
        guard !files.isEmpty else {
            throw CommandFailure(
                .badInput, "there is no capture in \(directory)", advice: "Name the folder that holds the captures.")
        }
        // Report an error before hours of reading.
        let place = try junit.map { try OutputFile($0, mode: CaptureRun.mode) }
        var report = TestReport(suite: "waterh-replay verify")
        for name in files {
            let begun = ContinuousClock.now
            let differences = try update ? renew(name, run) : check(name)
            report.cases.append(
                .init(name: name, seconds: (ContinuousClock.now - begun) / .seconds(1), failures: differences))
            if !tap { for difference in differences { run.out.put(text: "\(name): \(difference)\n") } }
        }
        let wrong = report.cases.count { !$0.failures.isEmpty }
        if let place {
            try place.write(Array(report.junit.utf8))
            try place.commit()
        }
        run.out.put(
            text: tap
                ? report.tap
                : update
                    ? "\(count(files.count, "expectation")) written\n"
                    : """
                    \(count(files.count, "capture")), \
                    \(wrong == 0 ? "all as expected" : "\(wrong) not as expected")\n
                    """
        )
        try run.finish()
        if wrong > 0 { throw ExitCode(ExitStatus.badInput.rawValue) }
    }

    /// All files except expectations, descriptions and hidden files.
    private func captures() throws -> [String] {
        guard isFolder(directory) else {
            throw CommandFailure(
                .badInput, "\(directory) is no folder", advice: "Name the folder that holds the captures.")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        let orphans = names.filter {
            $0.hasSuffix(Self.suffix) && !names.contains(String($0.dropLast(Self.suffix.count)))
        }
        return names.filter { name in
            let isText =
                [".md", ".tsv", ".json", ".jsonl"].contains { name.lowercased().hasSuffix($0) }
                || name.uppercased().hasPrefix("README")
            return !isFolder(path(name)) && !name.hasPrefix(".") && !isText
        } + orphans.map { String($0.dropLast(Self.suffix.count)) }
    }

    private func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private func path(_ name: String) -> String { directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)" }

    private func reading(_ name: String) throws -> CaptureReading {
        do {
            let parts = try CaptureOpener().open(path(name)).parts
            guard let part = parts.first, parts.count == 1 else {
                throw CommandFailure(.badInput, "it holds \(parts.count) captures, and an expectation is of one")
            }
            return try CaptureReading(
                of: part.path, hostYear: Calendar(identifier: .gregorian).component(.year, from: Date()))
        } catch let error as CaptureError {
            throw CommandFailure(.badInput, error.description)
        } catch let error as CaptureFileError {
            throw CommandFailure(.failed, error.description)
        }
    }

    private func check(_ name: String) throws -> [String] {
        guard let text = try? String(contentsOfFile: path(name) + Self.suffix, encoding: .utf8) else {
            return ["there is no expectation \(name)\(Self.suffix) beside it; --update writes it"]
        }
        do {
            let expected = try CaptureReading(expectation: text)
            return ReadingComparison().differences(expected, try reading(name)).map(\.description)
        } catch let error as ExpectationError {
            return ["the expectation cannot be used: \(error)"]
        } catch let error as CommandFailure {
            return [error.sentence]
        }
    }

    private func renew(_ name: String, _ run: CaptureRun) throws -> [String] {
        let reading = try reading(name)
        let destination = try OutputFile(path(name) + Self.suffix, mode: CaptureRun.mode)
        try destination.write(Array(reading.text.utf8))
        try destination.commit()
        if let trouble = reading.trouble { run.note("\(name): \(trouble)") }
        return []
    }
}
