import Bluetooth
import BottleProtocol
import CommandSupport
import Foundation
import Support
import Testing

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
        socket = "unix:" + folder.file("b.sock")
        control = "unix:" + folder.file("c.sock")
        store = folder.file("waterh.sqlite")
        emulator = try Program.emulator.start(["run", "--link", socket, "--control", control, "--quiet"] + arguments)
        _ = try await emulator.line { $0.hasPrefix("ready ") }
    }

    func sip(_ ml: Int) async throws { try ask("sip", "\(ml)") }

    func status() throws -> [String: Any] { try ask("status") }

    func records() throws -> Int { try #require(try status()["records"] as? Int) }

    @discardableResult
    func ask(_ action: String, _ value: String? = nil) throws -> [String: Any] {
        try Self.ask(control, action, value)
    }

    /// The status of the emulator with this control socket after the action.
    @discardableResult
    static func ask(_ control: String, _ action: String, _ value: String? = nil) throws -> [String: Any] {
        let answer = try ControlSocket.request(
            String(control.dropFirst("unix:".count)), ControlMessages.request(action, value).text)
        let object = try JSONSerialization.jsonObject(with: answer) as? [String: Any]
        return try #require(object?["status"] as? [String: Any], "\(String(decoding: answer, as: UTF8.self))")
    }

    var pollArguments: [String] { ["poll", "--link", socket, "--store", store] }

    func poll(_ more: [String] = []) async throws -> (exitCode: Int32, object: [String: Any], error: String) {
        let result = try await Program.gateway.run(pollArguments + ["--json"] + more)
        return (result.exitCode, (try? result.object()) ?? [:], result.error)
    }

    func serve(_ more: String = "", environment: [String: String] = [:]) throws -> RunningProgram {
        try Program.gateway.start("run --link \(socket) --store \(store) \(more)", environment: environment)
    }

    /// Writes a configuration file with the link, the store and these lines. Returns its path.
    @discardableResult
    func configure(_ lines: String = "") throws -> String {
        try folder.write("link = \"\(socket)\"\nstore = \"\(store)\"\n\(lines)\n", to: "waterh.toml")
        return folder.file("waterh.toml")
    }

    /// Runs `waterh-gateway` on the store, whatever its exit code.
    func gateway(_ line: String, environment: [String: String] = [:]) async throws -> Program.Result {
        try await Program.gateway.run("\(line) --store \(store)", environment: environment)
    }

    func state() async throws -> [String: Any] { try await tracker("status --json").object() }

    /// Runs `waterh-tracker` on the store.
    @discardableResult
    func tracker(_ line: String) async throws -> Program.Result {
        try await Program.tracker.succeed("\(line) --store \(store)")
    }

    /// Arguments of curl with a token for all endpoints.
    static func signedIn(_ store: String, environment: [String: String] = [:]) async throws -> [String] {
        let made = try await Program.tracker.succeed(
            "token new --scope admin --store \(store)", environment: environment)
        return ["-H", "Authorization: Bearer \(made.output.prefix { $0 != "\n" })"]
    }
}

/// A central on the `unix:` link, as a phone app is one. Each request waits for its response, with a time limit.
final class Phone: Sendable {
    private let link: ATTCentralLink
    private let inbox: Inbox<CentralEvent>

    struct NoResponse: Error { let request: String }

    init(_ path: String) throws {
        link = ATTCentralLink(try UnixSocket(path: path))
        inbox = Inbox(link.events)
    }

    /// Sends a request and waits for the event that answers it.
    @discardableResult
    private func ask<Answer: Sendable>(
        _ request: CentralRequest, _ fits: @Sendable (CentralEvent) -> Answer?
    ) async throws -> Answer {
        link.perform(request)
        return try await inbox.next("\(request)", fits)
    }

    /// Waits for a result of all events of the connection.
    func wait<Answer: Sendable>(_ what: String, _ find: ([CentralEvent]) -> Answer?) async throws -> Answer {
        guard let answer = await event(within: 10, { find(inbox.all) }) else { throw NoResponse(request: what) }
        return answer
    }

    /// Connects and discovers the handles of the retail bottle's two characteristics.
    func connect() async throws -> (command: UInt16, response: UInt16) {
        let peer = try await ask(.startScan) {
            if case .advertised(let advertisement) = $0 { advertisement.peer } else { nil }
        }
        try await ask(.connect(peer, limit: .seconds(5))) { if case .connected = $0 { true } else { nil } }
        let services = try await ask(.discover) { if case .discovered(let services) = $0 { services } else { nil } }
        let characteristics = services.flatMap(\.characteristics)
        func handle(_ uuid: UInt16) throws -> UInt16 {
            try #require(characteristics.first { $0.uuid == BluetoothUUID(uuid) }).handle
        }
        return (
            try handle(BottleProfile.retail.commandCharacteristic),
            try handle(BottleProfile.retail.responseCharacteristic)
        )
    }

    func write(_ handle: UInt16, _ value: [UInt8]) async throws {
        try await ask(.write(handle: handle, value: value, withResponse: false)) {
            if case .wrote(handle) = $0 { true } else { nil }
        }
    }

    func connectAndSubscribe() async throws -> (command: UInt16, response: UInt16) {
        let handles = try await connect()
        try await ask(.subscribe(handle: handles.response)) {
            if case .subscribed(handles.response) = $0 { true } else { nil }
        }
        return handles
    }

    func close() async { await link.close() }
}
