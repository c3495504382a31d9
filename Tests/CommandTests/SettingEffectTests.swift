import Foundation
import Gateway
import GatewaySupport
import Store
import Support
import Testing
import TrackerCore

/// Every setting has a visible effect.
///
/// `SettingEffects` has a value and an observation for each. The same commands run in two environments, of which one
/// has the setting.
@Suite struct SettingEffectTests {
    static let names = Settings.catalogue.map(\.name)

    @Test func `every effect belongs to a setting`() {
        #expect(Set(SettingEffects.table.keys).subtracting(Self.names).isEmpty)
    }

    @Test(arguments: names) func `every setting has an observable effect`(_ name: String) async throws {
        let effect = try #require(SettingEffects.table[name], "\(name) has no observation: wire it up, or delete it")
        let set = try await effect.seen(setting: (name, effect.value))
        let unset = try await effect.seen(setting: nil)
        #expect(set != unset, "\(name) = \(effect.value) changes nothing in:\n\(unset)")
        // A difference is meaningful only if repeated runs agree.
        #expect(try await effect.seen(setting: nil) == unset, "the observation says something else each time")
    }
}

/// A value of a setting and its observation.
struct SettingEffect: Sendable {
    enum Observation: Sendable {
        /// The output of these `waterh-tracker` lines, each after its time of day on one date. `*` marks where the
        /// setting is set (default: the beginning), and `files` lists the files next to the store.
        case day([String])
        /// The same with a sync server that requires a token. `SERVER` is a placeholder for its address.
        case synced([String])
        /// The values of these keys after a poll of a bottle with one new drink of 300 ml, in a session.
        case poll([String])
        /// The result of the gateway's engine with the setting.
        case engine(@Sendable (Settings) throws -> String)
        /// The first matching line of the service, outside drinking hours.
        case service(String)
    }

    var value: String
    var observation: Observation

    func seen(setting: (name: String, value: String)?) async throws -> String {
        let change = setting.map { ["settings", "set", $0.name, $0.value] }
        switch observation {
        case .day(let lines):
            return try await World().live(lines, change)
        case .synced(let lines):
            let server = try await Self.server(token: "s3cret")
            let world = try World()
            return try await world.live(
                lines.map { $0.replacing("SERVER", with: server.address) }, change
            )
            // Only the host is reported, and the port differs in each run.
            .replacing(server.address, with: "SERVER").replacing(
                server.address.replacing("/sync", with: ""), with: "SERVER")
        case .poll(let names):
            return try await World().poll(names, change)
        case .engine(let look):
            var settings = Settings()
            if let setting { try settings.set(setting.name, to: setting.value) }
            return try look(settings)
        case .service(let beginning):
            return try await World().serve(until: beginning, change)
        }
    }

    private static func server(token: String) async throws -> (program: RunningProgram, address: String) {
        let python = try #require(Program(system: "python3"), "this test needs python3")
        let program = try python.start([Program.repository + "/Tests/SyncTests/server.py", "0", token])
        let port = try await program.line { $0.hasPrefix("port ") }.dropFirst(5)
        return (program, "http://127.0.0.1:\(port)/sync")
    }
}

/// An empty home.
private struct World {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Data("s3cret\n".utf8).write(to: folder.url("token"))
        let record =
            """
            <Record type="HKQuantityTypeIdentifierDietaryWater" sourceName="Some App" unit="mL" \
            startDate="2026-06-15 08:00:00 +0200" value="250"/>
            """
        try Data("<HealthData>\(record)</HealthData>".utf8).write(to: folder.url("health.xml"))
    }

    private var environment: [String: String] {
        [
            "WATERH_STORE": folder.file("w.sqlite"), "WATERH_ZONE": "", "WATERH_LINK": "", "WATERH_BOTTLE": "",
            "HOME": folder.path, "XDG_CONFIG_HOME": folder.file("config"), "XDG_STATE_HOME": folder.file("state"),
            "DBUS_SESSION_BUS_ADDRESS": "",
        ]
    }

    @discardableResult
    private func tracker(_ words: [String], in zone: [String: String] = [:]) async throws -> String {
        let result = try await Program("waterh-tracker").run(words, environment: environment.merging(zone) { $1 })
        return "\(result.output)\(result.error)exit \(result.exitCode)\n"
    }

    func live(_ lines: [String], _ change: [String]?) async throws -> String {
        var seen = ""
        var story = lines
        if !story.contains(where: { $0.hasSuffix("*") }) { story.insert("05:00 *", at: 0) }
        for line in story {
            let words = line.replacing("FOLDER", with: folder.path).split(separator: " ").map(String.init)
            let now = ["--now", "2026-06-15T\(words[0])"]
            switch words[1] {
            case "*":
                guard let change else { continue }
                let done = try await tracker(change + now, in: ["TZ": "Europe/Berlin"])
                #expect(done.hasSuffix("exit 0\n"), "\(done)")
            case "files":
                let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
                seen += files.filter { !$0.contains("sqlite") }.sorted().joined(separator: "\n")
            default:
                seen += try await tracker(words.dropFirst() + now, in: ["TZ": "Europe/Berlin"])
            }
        }
        return seen.replacing(folder.path, with: "~")
    }

    func poll(_ names: [String], _ change: [String]?) async throws -> String {
        let pair = try await Pair()
        if let change { try await tracker(change) }
        // A bottle counts whole seconds: the session must start before the drink.
        try await tracker([
            "session", "start", "--now",
            Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) - 60_000).description,
        ])
        try await pair.sip(300)
        let result = try await Program("waterh-gateway").run(
            ["poll", "--link", pair.socket, "--json", "--keep"], environment: environment)
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any], "\(result.error)")
        return names.map { name in
            let value = name.split(separator: ".").reduce(report as Any?) { ($0 as? [String: Any])?[String($1)] }
            // The bottle's clock is off by hours or correct. Differences of a second are due to the machine.
            if name == "clockDriftSeconds", let seconds = value as? Int {
                return "\(name) about \((Double(seconds) / 3600).rounded()) h"
            }
            return "\(name) \(value.map { "\($0)" } ?? "nothing")"
        }.joined(separator: ", ")
    }

    /// A service at night, by its time zone.
    func serve(until beginning: String, _ change: [String]?) async throws -> String {
        let pair = try await Pair()
        if let change { try await tracker(change) }
        let hour = Int(Date().timeIntervalSince1970) / 3600 % 24
        let east = (2 - hour + 36) % 24 - 12
        let service = try Program("waterh-gateway").start(
            ["run", "--verbose", "--link", pair.socket, "--zone", "Etc/GMT\(east > 0 ? "-" : "+")\(abs(east))"],
            environment: environment)
        defer { service.send(signal: SIGTERM) }
        let line = await event(within: 30) { service.error.split(separator: "\n").first { $0.contains(beginning) } }
        // Without the time and the ids, which differ in each run.
        let words = try #require(line?.range(of: beginning).flatMap { line?[$0.lowerBound...] }, "\(service.error)")
        return String(words.prefix { $0 != "[" })
    }
}
