package import Foundation

/// A built command of this package as a user runs it: arguments in, text and exit code out.
package struct Program: Sendable {
    package let path: String

    /// The repository's root, relative to this file.
    package static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    /// The folder with the built products, next to the running test bundle.
    package static let products: String = {
        // SwiftPM runs the tests from <products>/<package>PackageTests.xctest, as argument 0 or after a helper's
        // option.
        for argument in CommandLine.arguments where argument.contains("PackageTests.xctest") {
            return URL(fileURLWithPath: argument).resolvingSymlinksInPath().deletingLastPathComponent().path
        }
        return repository + "/.build/debug"
    }()

    /// - Parameter name: a product of Package.swift, e.g. `waterh-replay`.
    package init(_ name: String) {
        path = Self.products + "/" + name
    }

    package init(path: String) {
        self.path = path
    }

    /// A program of the system, by name; `nil` if it is not on PATH.
    package init?(system name: String) {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/sbin"]
        guard let folder = folders.first(where: { access("\($0)/\(name)", X_OK) == 0 }) else { return nil }
        self.path = "\(folder)/\(name)"
    }

    package struct Result: Sendable {
        package var exitCode: Int32
        /// Whether a signal ended it; `exitCode` is the signal then.
        package var signalled: Bool
        package var outputBytes: [UInt8]
        package var errorBytes: [UInt8]
        package var output: String { String(decoding: outputBytes, as: UTF8.self) }
        package var error: String { String(decoding: errorBytes, as: UTF8.self) }
        package var lines: [Substring] { output.split(separator: "\n") }
    }

    package struct TookTooLong: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs to the end. After `limit` seconds the program is killed, and the test fails.
    package func run(
        _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:], directory: String? = nil,
        limit: Double = 60
    ) async throws -> Result {
        let running = try start(arguments, input: input, environment: environment, directory: directory)
        return try await running.finish(limit: limit)
    }

    /// Starts the program without waiting for its end.
    package func start(
        _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:], directory: String? = nil
    ) throws -> RunningProgram {
        try RunningProgram(
            path: path, arguments: arguments, input: input, environment: environment, directory: directory)
    }
}

/// A running program. Its output goes to files, so that no pipe fills.
package final class RunningProgram: @unchecked Sendable {
    private let process = Process()
    private let folder: TemporaryFolder
    private let ended: AsyncStream<Void>
    private let commandLine: String

    init(path: String, arguments: [String], input: [UInt8], environment: [String: String], directory: String?) throws {
        folder = try TemporaryFolder()
        commandLine = ([path] + arguments).joined(separator: " ")
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        // The page has one port per machine, and many services run here: each test enables it explicitly.
        var defaults = ["WATERH_LISTEN": "off"].merging(ProcessInfo.processInfo.environment) { $1 }
        // Emulated bottles have one address: the services of different tests must not find each other's sockets.
        for text in arguments + environment.values.sorted() {
            guard let folder = text.firstMatch(of: /\/[^ =]*\/waterh-test-[0-9A-F]{8}/) else { continue }
            defaults["XDG_RUNTIME_DIR"] = String(folder.0)
            break
        }
        // The tests show nothing on the user's desktop.
        process.environment = defaults.merging(["DBUS_SESSION_BUS_ADDRESS": ""]) { $1 }.merging(environment) { $1 }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        try Data(input).write(to: folder.url("input"))
        for name in ["output", "error"] { try Data().write(to: folder.url(name)) }
        let files = [
            try FileHandle(forReadingFrom: folder.url("input")), try FileHandle(forWritingTo: folder.url("output")),
            try FileHandle(forWritingTo: folder.url("error")),
        ]
        // Foundation keeps them open after the end of the program.
        defer { for file in files { try? file.close() } }
        (process.standardInput, process.standardOutput, process.standardError) = (files[0], files[1], files[2])
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        ended = stream
        process.terminationHandler = { _ in continuation.finish() }
        try Self.withoutBlockedSignals { try process.run() }
    }

    /// A child inherits the signal mask of its parent thread, and a dispatch thread blocks SIGTERM: such a child would
    /// ignore it.
    private static func withoutBlockedSignals<Result>(_ body: () throws -> Result) rethrows -> Result {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        return try body()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    package var processIdentifier: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }
    package var output: String { (try? String(contentsOf: folder.url("output"), encoding: .utf8)) ?? "" }
    package var error: String { (try? String(contentsOf: folder.url("error"), encoding: .utf8)) ?? "" }

    package func send(signal: Int32) {
        if process.isRunning { kill(process.processIdentifier, signal) }
    }

    /// Waits until standard output has a complete line that matches.
    package func line(limit: Double = 20, where matches: @Sendable (Substring) -> Bool) async throws -> String {
        let found = await event(within: limit) {
            // The last piece can be an incomplete line.
            self.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first(where: matches).map(
                String.init)
        }
        guard let found else {
            throw Program.TookTooLong(
                description: "\(commandLine): no such line in \(limit) s.\nstdout: \(output)\nstderr: \(error)")
        }
        return found
    }

    /// Sends a signal and waits for the end.
    @discardableResult
    package func stop(_ signal: Int32 = SIGTERM, limit: Double = 20) async throws -> Program.Result {
        send(signal: signal)
        return try await finish(limit: limit)
    }

    package func finish(limit: Double = 60) async throws -> Program.Result {
        let endedInTime = await withTaskGroup(of: Bool.self) { group in
            group.addTask { [ended] in
                for await _ in ended {}
                return !Task.isCancelled
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(limit))
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        guard endedInTime || !process.isRunning else {
            send(signal: SIGKILL)
            throw Program.TookTooLong(
                description: "\(commandLine): still running after \(limit) s.\nstdout: \(output)\nstderr: \(error)")
        }
        process.waitUntilExit()
        return Program.Result(
            exitCode: process.terminationStatus, signalled: process.terminationReason == .uncaughtSignal,
            outputBytes: [UInt8]((try? Data(contentsOf: folder.url("output"))) ?? Data()),
            errorBytes: [UInt8]((try? Data(contentsOf: folder.url("error"))) ?? Data()))
    }
}

/// A folder that is deleted with its owner.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path =
            FileManager.default.temporaryDirectory.appendingPathComponent("waterh-test-\(UUID().uuidString.prefix(8))")
            .path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func url(_ name: String) -> URL { URL(fileURLWithPath: path + "/" + name) }
    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try Data(bytes).write(to: url(name))
        return file(name)
    }
}

/// Polls `attempt` until it returns a value or the limit (seconds) expires: for events of other processes that cannot
/// be awaited.
package func event<Answer: Sendable>(within limit: Double = 20, _ attempt: () async throws -> Answer?) async rethrows
    -> Answer?
{
    let deadline = ContinuousClock.now.advanced(by: .seconds(limit))
    while true {
        let start = ContinuousClock.now
        if let answer = try await attempt() { return answer }
        guard ContinuousClock.now < deadline else { return nil }
        // Many attempts start a program: together they use at most a third of a processor.
        try? await Task.sleep(for: min(max(.milliseconds(10), (ContinuousClock.now - start) * 2), .milliseconds(500)))
    }
}

/// Polls a condition. Returns whether it was met within the limit (seconds).
package func eventually(within limit: Double = 20, _ isMet: () async throws -> Bool) async rethrows -> Bool {
    try await event(within: limit) { try await isMet() ? true : nil } == true
}

/// Runs the body for at most `limit` elements at the same time, for tests that mostly wait.
package func concurrently<Element: Sendable>(
    _ elements: [Element], atOnce limit: Int = 3, _ body: @escaping @Sendable (Element) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, element) in elements.enumerated() {
            if index >= limit { _ = try await group.next() }
            group.addTask { try await body(element) }
        }
        try await group.waitForAll()
    }
}

/// Runs SQL on a store with sqlite3, as another program. Returns its output.
@discardableResult
package func sqlite(_ store: String, _ sql: String) async throws -> String {
    guard let tool = Program(system: "sqlite3") else {
        throw Broker.Missing(description: "this test needs sqlite3: apt-get install sqlite3")
    }
    let result = try await tool.run(["-cmd", ".timeout 5000", store, sql])
    guard result.exitCode == 0 else { throw Broker.Missing(description: result.error) }
    return result.output
}
