import CommandSupport
import DBusSupport
import Foundation
import Support
import Testing

/// US-033: the four quick actions of a session on the four interfaces, in sixteen calls to one running service.
@Suite(.timeLimit(.minutes(3))) struct QuickActionTests {
    enum Surface: String, CaseIterable { case commandLine, http, sessionBus, broker }

    enum Action: String, CaseIterable {
        case start, drink, water, end

        var busName: String {
            switch self {
            case .start: "StartSession"
            case .drink: "LogDrink"
            case .water: "LogWater"
            case .end: "EndSession"
            }
        }

        var target: String { self == .start ? "session" : "session/\(rawValue)" }

        var words: [String] {
            switch self {
            case .start: ["session", "start"]
            case .end: ["session", "end", "--yes"]
            case .drink, .water: [rawValue]
            }
        }
    }

    @Test func `every quick action works on every interface`() async throws {
        let (folder, bus, broker) = (try TemporaryFolder(), try await PrivateBus(), try await Broker())
        let store = folder.file("s.sqlite")
        let environment = [
            "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "HOME": folder.path,
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
        ]
        let tracker: @Sendable ([String]) async throws -> Program.Result = { words in
            try await Program("waterh-tracker").run(words + ["--store", store, "--json"], environment: environment)
        }
        let settings = [
            "settings", "set", "reminders.enabled", "false", "mqtt.url", broker.url, "mqtt.commands", "true",
        ]
        #expect(try await tracker(settings).exitCode == 0)
        let answers = try await broker.listen("hydration/response/#")
        try Data(
            """
            link = \"unix:\(folder.file("b.sock"))\"\nstore = \"\(store)\"\nlisten = \"127.0.0.1:0\"\n\
            share-waterline = true\n
            """
            .utf8
        ).write(to: folder.url("waterh.toml"))
        let service = try Program("waterh-gateway").start(
            ["run", "--config", folder.file("waterh.toml"), "--verbose"], environment: environment)
        let isReady = await event(within: 60) {
            service.error.contains("The page is at unix:") && service.error.contains("MQTT: connected") ? true : nil
        }
        #expect(isReady == true, "\(service.error)")

        for surface in Surface.allCases {
            for action in Action.allCases {
                switch surface {
                case .commandLine: #expect(try await tracker(action.words).exitCode == 0, "\(action)")
                case .http:
                    let socket = try #require(
                        FileManager.default.contentsOfDirectory(atPath: folder.path).first {
                            $0.hasPrefix("waterh-") && $0.hasSuffix(".sock")
                        })
                    _ = try ServiceSocket(path: folder.file(socket)).post("/api/v1/\(action.target)", [:])
                case .sessionBus:
                    let call =
                        ["call", "org.waterh.Tracker", "/org/waterh/Tracker", "org.waterh.Tracker", action.busName]
                        + (action == .drink ? ["s", ""] : [])
                    let answer = try await bus.run("busctl", call)
                    #expect(
                        answer.exitCode == 0 && answer.output.contains("isActive"),
                        "\(action): \(answer.error) \(service.error)")
                case .broker:
                    try await broker.publish("hydration/cmd/\(action.rawValue)", "")
                    let said = await event(within: 20) {
                        answers.payloads(at: "hydration/response/\(action.rawValue)").first
                    }
                    #expect(
                        said?.contains(#""status":"ok""#) == true, "\(action): \(said ?? "nothing") \(service.error)")
                }
            }
            let shown = try await tracker(["session", "show"])
            let session = try #require(
                try JSONSerialization.jsonObject(with: Data(shown.outputBytes)) as? [String: Any], "\(shown.error)")
            let logs = (session["logs"] as? [[String: Any]])?.compactMap { $0["type"] as? String }
            #expect(
                logs == ["alcohol", "water"] && session["isActive"] as? Bool == false, "\(surface): \(shown.output)")
        }
        #expect(try await service.stop().exitCode == 0)
    }
}
