import Replay
import ArgumentParser
import Captures
import CommandSupport
import Foundation

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare captures with expected results",
        discussion: """
            The expected results of FILE are in FILE.expected.jsonl: one line each for the capture, for each command \
            and for each delivery of a drink. Lines can omit keys. --update writes them from the current results: \
            check the changes before you keep them. Exit code 4: a result differs.
            """)

    @Argument(help: "Directory of the captures", completion: .directory)
    var directory: String

    @Flag(help: "Write the current results as the expected ones")
    var update = false

    @Option(
        help: ArgumentHelp("Also write the result as JUnit XML, one test case per capture", valueName: "file"),
        completion: .file())
    var junit: String?

    @Flag(help: "Print the result as TAP (Test Anything Protocol, version 13)")
    var tap = false

    private static let suffix = ".expected.jsonl"

    func validate() throws {
        guard !update || (junit == nil && !tap) else {
            throw ValidationError("--update cannot be used with --junit or --tap")
        }
    }

    func run() throws {
        let run = try CaptureRun()
        let files = try captures()
        guard !files.isEmpty else {
            throw CommandFailure(
                .badInput, "no captures in \(directory)", advice: "Pass the directory of the captures.")
        }
        // Open the output first, to report an error before a long reading.
        let junitFile = try junit.map { try OutputFile($0, mode: CaptureRun.filePermissions) }
        var report = TestReport(suite: "waterh-replay verify")
        for name in files {
            let startedAt = ContinuousClock.now
            let differences = try update ? updateExpectation(name, run) : check(name)
            report.cases.append(
                .init(name: name, seconds: (ContinuousClock.now - startedAt) / .seconds(1), failures: differences))
            if !tap { for difference in differences { run.out.put(text: "\(name): \(difference)\n") } }
        }
        let failedCount = report.cases.count { !$0.failures.isEmpty }
        if let junitFile {
            try junitFile.write(Array(report.junit.utf8))
            try junitFile.commit()
        }
        run.out.put(
            text: tap
                ? report.tap
                : update
                    ? "\(counted(files.count, "expectation")) written\n"
                    : """
                    \(counted(files.count, "capture")), \
                    \(failedCount == 0 ? "all as expected" : "\(failedCount) not as expected")\n
                    """
        )
        try run.finish()
        if failedCount > 0 { throw ExitCode(ExitStatus.badInput.rawValue) }
    }

    /// The names of the captures, also of those that are missing but have an expectation file.
    private func captures() throws -> [String] {
        guard CaptureRun.isDirectory(directory) else {
            throw CommandFailure(
                .badInput, "not a directory: \(directory)", advice: "Pass the directory of the captures.")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        let orphans = names.filter {
            $0.hasSuffix(Self.suffix) && !names.contains(String($0.dropLast(Self.suffix.count)))
        }
        return names.filter { name in
            let isText =
                [".md", ".tsv", ".json", ".jsonl", ".xml"].contains { name.lowercased().hasSuffix($0) }
                || name.uppercased().hasPrefix("README")
            return !CaptureRun.isDirectory(path(name)) && !name.hasPrefix(".") && !isText
        } + orphans.map { String($0.dropLast(Self.suffix.count)) }
    }

    private func path(_ name: String) -> String { directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)" }

    private func reading(_ name: String) throws -> CaptureReading {
        do {
            let parts = try CaptureOpener().open(path(name)).parts
            guard parts.count == 1 else {
                throw CommandFailure(
                    .badInput, "\(path(name)) has \(parts.count) captures; an expectation file is for one capture")
            }
            return try CaptureReading(of: parts, hostYear: DrinkReader.Options.hostYear)
        } catch let error as CaptureError {
            throw CommandFailure(.badInput, error.description)
        } catch let error as CaptureFileError {
            throw CommandFailure(.failed, error.description)
        }
    }

    private func check(_ name: String) throws -> [String] {
        guard let text = try? String(contentsOfFile: path(name) + Self.suffix, encoding: .utf8) else {
            return ["\(name)\(Self.suffix) is missing; --update writes it"]
        }
        do {
            let expected = try CaptureReading(expectation: text)
            return ReadingComparison().differences(expected, try reading(name))
        } catch let error as ExpectationError {
            return ["invalid expectation file: \(error)"]
        } catch let error as CommandFailure {
            return [error.sentence]
        }
    }

    private func updateExpectation(_ name: String, _ run: CaptureRun) throws -> [String] {
        let reading = try reading(name)
        let destination = try OutputFile(path(name) + Self.suffix, mode: CaptureRun.filePermissions)
        try destination.write(Array(reading.text.utf8))
        try destination.commit()
        for readingError in reading.readingErrors.compactMap(\.self) { run.note("\(name): \(readingError)") }
        return []
    }
}
