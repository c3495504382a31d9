import Foundation
import Support
import Testing

struct CommandFailed: Error, CustomStringConvertible { let description: String }

extension Program {
    static let emulator = Program("waterh-emulator")
    static let gateway = Program("waterh-gateway")
    static let replay = Program("waterh-replay")
    static let tracker = Program("waterh-tracker")
    static let curl = Program(path: "/usr/bin/curl")

    static var python: Program {
        get throws { try #require(Program(system: "python3"), "this test needs python3: hardware/bench setup test") }
    }

    /// The text of a file of the repository.
    static func repositoryText(_ path: String) throws -> String {
        try String(contentsOfFile: "\(repository)/\(path)", encoding: .utf8)
    }

    /// The names of all tests of the running test bundle.
    static func testNames() async throws -> [String] {
        let testBinary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let list = try await Program(path: testBinary).run("--testing-library swift-testing --list-tests").lines
        try #require(list.count > 100)
        return list.map(String.init)
    }

    /// Runs to the end. An exit code other than 0 is an error.
    @discardableResult
    func succeed(
        _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:], directory: String? = nil
    ) async throws -> Result {
        let result = try await run(arguments, input: input, environment: environment, directory: directory)
        guard result.exitCode == 0 else {
            let line = ([path] + arguments).joined(separator: " ")
            throw CommandFailed(description: "\(line): exit code \(result.exitCode)\n\(result.output)\n\(result.error)")
        }
        return result
    }

    // The same with the arguments as one line, separated by spaces.

    @discardableResult
    func succeed(
        _ line: String, input: [UInt8] = [], environment: [String: String] = [:], directory: String? = nil
    ) async throws -> Result {
        try await succeed(Self.words(line), input: input, environment: environment, directory: directory)
    }

    func run(
        _ line: String, input: [UInt8] = [], environment: [String: String] = [:], directory: String? = nil,
        limit: Double = 60
    ) async throws -> Result {
        try await run(Self.words(line), input: input, environment: environment, directory: directory, limit: limit)
    }

    func start(_ line: String, environment: [String: String] = [:], directory: String? = nil) throws -> RunningProgram {
        try start(Self.words(line), environment: environment, directory: directory)
    }

    private static func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }
}

extension Program {
    /// Copies the program for another user. Another process makes the copy: a file that the test process has open for
    /// writing cannot be executed while other tests start programs.
    func copy(to path: String) async throws -> Program {
        try await #require(Program(system: "cp")).succeed([self.path, path])
        chmod(path, 0o755)
        return Program(path: path)
    }

    /// The arguments of setpriv that start this program as an unprivileged user.
    var asNobody: [String] { ["--reuid=65534", "--regid=65534", "--clear-groups", path] }
}

extension Program.Result {
    /// Expects an exit code, and texts in the output and on standard error.
    /// - Parameters:
    ///   - output: texts that the output contains. An empty text means that there is no output.
    ///   - error: the same for standard error.
    ///   - input: the input, for the message of a failed test.
    func expect(
        _ code: Int32, output: String..., error: String..., for input: String = "",
        at location: SourceLocation = #_sourceLocation
    ) {
        func hold(_ texts: [String], _ stream: String) -> Bool {
            texts.allSatisfy { $0.isEmpty ? stream.isEmpty : stream.contains($0) }
        }
        #expect(
            exitCode == code && hold(output, self.output) && hold(error, self.error),
            "\(input): exit code \(exitCode)\n\(self.output)\n\(self.error)", sourceLocation: location)
    }

    func object() throws -> [String: Any] {
        guard let object = output.jsonObject else {
            throw CommandFailed(description: "not a JSON object: \(output)\nstandard error: \(error)")
        }
        return object
    }
}

extension StringProtocol {
    /// The text as a JSON object; `nil` if it is none.
    var jsonObject: [String: Any]? { try? JSONSerialization.jsonObject(with: Data(utf8)) as? [String: Any] }
}

extension RunningProgram {
    /// Ends it with a signal. After SIGTERM an exit code other than 0 is an error.
    @discardableResult
    func stop(_ signal: Int32 = SIGTERM) async throws -> Program.Result {
        send(signal: signal)
        let result = try await finish(limit: 30)
        guard signal != SIGTERM || result.exitCode == 0 && !result.signalled else {
            throw CommandFailed(description: "exit code \(result.exitCode) after SIGTERM\n\(result.error)")
        }
        return result
    }

    func kill() async throws { try await stop(SIGKILL) }

    /// Waits until standard error contains all of these texts.
    func says(_ texts: String..., within limit: Double = 90, sourceLocation: SourceLocation = #_sourceLocation) async {
        let isSaid = await eventually(within: limit) { texts.allSatisfy(error.contains) }
        #expect(isSaid, "not within \(limit) s: \(texts) in\n\(error)", sourceLocation: sourceLocation)
    }

    /// The address of a service's page, once standard error contains it.
    func page() async throws -> String {
        try #require(
            await event(within: 30) { error.firstMatch(of: /http:\/\/[0-9.:]+\//).map { String($0.0) } }, "\(error)")
    }
}

extension TemporaryFolder {
    /// Writes a file, and creates its folder.
    func write(_ text: String, to name: String) throws {
        try FileManager.default.createDirectory(
            at: url(name).deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url(name))
    }

    /// The sorted names in a folder.
    func names(_ name: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file(name)).sorted()
    }

    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
    }

    func text(_ name: String) throws -> String { try String(contentsOf: url(name), encoding: .utf8) }

    /// The permissions of a file or folder.
    func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file(name))[.posixPermissions] as? Int
    }
}
