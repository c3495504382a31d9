import Foundation
import Support

/// A home for commands in a temporary folder: a store of its own, and neither the user's configuration nor a desktop.
struct Home: Sendable {
    let folder: TemporaryFolder
    /// Additional environment variables.
    var variables: [String: String] = [:]

    init(_ variables: [String: String] = [:]) throws {
        folder = try TemporaryFolder()
        self.variables = variables
    }

    var store: String { folder.file("waterh.sqlite") }

    var environment: [String: String] {
        [
            "WATERH_STORE": store, "WATERH_ZONE": "Europe/Berlin", "WATERH_LINK": "", "WATERH_BOTTLE": "",
            "HOME": folder.path, "XDG_CONFIG_HOME": folder.file("config"), "XDG_STATE_HOME": folder.file("state"),
            "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "DBUS_SESSION_BUS_ADDRESS": "", "TERM": "dumb",
        ].merging(variables) { $1 }
    }

    func with(_ more: [String: String]) -> Home {
        var home = self
        home.variables.merge(more) { $1 }
        return home
    }

    /// Runs a command, whatever its exit code.
    func run(_ program: Program, _ line: String) async throws -> Program.Result {
        try await program.run(line, environment: environment, directory: folder.path)
    }

    /// Runs `waterh-tracker`, whatever its exit code.
    /// - Parameter now: `12:00` on 15 June 2026, or a date and time.
    @discardableResult
    func tracker(_ line: String, at now: String? = nil) async throws -> Program.Result {
        let more = now.map { " --now \($0.count == 5 ? "2026-06-15T" : "")\($0)" } ?? ""
        return try await run(.tracker, line + more)
    }

    func object(_ line: String, at now: String? = nil) async throws -> [String: Any] {
        try await tracker(line + " --json", at: now).object()
    }

    /// Runs a line of bash in the folder, with the built commands on PATH and with a relative path of the store.
    @discardableResult
    func shell(_ line: String, _ more: [String: String] = [:]) async throws -> Program.Result {
        let path = Program.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        return try await Program(path: "/bin/bash").run(
            ["-c", line],
            environment: environment.merging(["PATH": path, "WATERH_STORE": "waterh.sqlite"]) { $1 }.merging(more) {
                $1
            }, directory: folder.path)
    }
}
