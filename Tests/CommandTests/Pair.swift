import Foundation
import Support

/// A running emulator and a gateway's store in a temporary folder.
struct Pair {
    let folder: TemporaryFolder
    let emulator: RunningProgram
    let socket: String
    let control: String
    let store: String

    /// Starts the emulator and waits until it accepts connections.
    init(_ arguments: [String] = []) async throws {
        folder = try TemporaryFolder()
        socket = "unix:" + folder.url("b.sock").path
        control = "unix:" + folder.url("c.sock").path
        store = folder.url("waterh.sqlite").path
        emulator = try Program("waterh-emulator").start(
            ["run", "--link", socket, "--control", control, "--quiet"] + arguments)
        _ = try await emulator.line { $0.hasPrefix("ready ") }
    }

    func sip(_ ml: Int) async throws {
        let result = try await Program("waterh-emulator").run(["control", "--control", control, "sip", "\(ml)"])
        guard result.exitCode == 0 else { throw Failed(description: result.error) }
    }

    var pollArguments: [String] { ["poll", "--link", socket, "--store", store] }

    /// Runs one poll with `--json`.
    func poll(_ more: [String] = []) async throws -> (exitCode: Int32, object: [String: Any], error: String) {
        let result = try await Program("waterh-gateway").run(pollArguments + ["--json"] + more)
        let object = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
        return (result.exitCode, object ?? [:], result.error)
    }

    /// Arguments of curl with a token for all endpoints.
    static func signedIn(_ store: String, environment: [String: String] = [:]) async throws -> [String] {
        let made = try await Program("waterh-tracker").run(
            ["token", "new", "--scope", "admin", "--store", store], environment: environment)
        guard made.exitCode == 0 else { throw Failed(description: made.error) }
        return ["-H", "Authorization: Bearer \(made.output.prefix { $0 != "\n" })"]
    }

    struct Failed: Error, CustomStringConvertible {
        let description: String
    }
}
