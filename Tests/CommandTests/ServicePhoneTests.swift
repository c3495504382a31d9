import Foundation
import Support
import Testing

/// The built service with a fake ntfy server.
@Suite struct ServicePhoneTests {
    private struct NtfyService {
        let peer: WebPeer
        let pair: Pair
        let port: Int
        var config: URL { pair.folder.url("waterh.toml") }

        init(_ more: String = "") async throws {
            (peer, pair, port) = (try await WebPeer(), try await Pair(), try Broker.freePort())
            try pair.folder.write("tk_s3cret\n", to: "token")
            let text = """
                link = "\(pair.socket)"
                store = "\(pair.store)"
                zone = "\(DueNow.zone)"
                public-url = "http://127.0.0.1:\(port)"
                [ntfy]
                url = "\(peer.url)/my-water"
                token-file = "\(pair.folder.file("token"))"
                \(more)
                """
            try Data(text.utf8).write(to: config)
            try await Program.tracker.succeed("setup --yes --config \(config.path)")
        }

        func serve() throws -> RunningProgram {
            try Program.gateway.start("run --config \(config.path) --listen 127.0.0.1:\(port)")
        }
        func status() async throws -> String { try await Program.tracker.run("status --config \(config.path)").output }
    }

    @Test func `a reminder reaches ntfy, and its button logs a drink`() async throws {
        let ntfy = try await NtfyService()
        var service = try ntfy.serve()
        let request = try #require(try await ntfy.peer.requests(1).first)
        #expect(
            request.json["title"] as? String == "Hydration Reminder"
                && request.headers["authorization"] == "Bearer tk_s3cret")
        let action = try #require((request.json["actions"] as? [[String: Any]])?.first, "\(request.body)")
        let (url, body) = (try #require(action["url"] as? String), try #require(action["body"] as? String))
        func pressButton(_ body: String) async throws -> String {
            try await Program.curl.run([
                "-sS", "--noproxy", "*", "-m", "20", "-H", "Content-Type: application/json", "-d", body, url,
            ]).output
        }
        await service.says("Notifications go to ntfy at \(ntfy.peer.url), with a token, buttons to")
        #expect(!service.error.contains("s3cret") && !service.error.contains("my-water"), "\(service.error)")

        try await service.kill()
        service = try ntfy.serve()
        let answer: String? = try await event {
            let answer = try await pressButton(body)
            return answer.contains("done") ? answer : nil
        }
        #expect(answer == #"{"done":true}"#, "\(service.error)")
        #expect(try await pressButton(body) == #"{"done":false}"#)
        #expect(try await pressButton(body.replacing(/"key":"./, with: "\"key\":\"z")).contains("noSuchNotification"))
        #expect(try await ntfy.status().contains("250 ml"))
        #expect(try await ntfy.peer.requests(1).count == 1)
        let end = try await service.stop()
        #expect(end.exitCode == 0, "\(end.error)")
    }

    /// The report names the server that rejects requests or is down, the time since then, and the number of pending
    /// notifications. It ends when delivery works again.
    @Test func `status and doctor report a rejecting server`() async throws {
        let ntfy = try await NtfyService("[webhook]\nurl = \"http://127.0.0.1:9/hook-secret\"\n")
        try ntfy.peer.rule(#"{"status": 401}"#)
        func failingChannels() async throws -> [String: [String: Any]] {
            let state = try await Program.tracker.run("status --json --config \(ntfy.config.path)").object()
            #expect(state["dailyTotalMl"] is Int, "\(state)")
            let list = try #require(state["outletTroubles"] as? [[String: Any]], "\(state)")
            return Dictionary(list.map { ($0["outlet"] as? String ?? "", $0) }) { $1 }
        }
        func failingSince(_ channel: String) async throws -> Int? {
            try await failingChannels()[channel]?["since"] as? Int
        }
        let began = Int(Date().timeIntervalSince1970)
        var service = try ntfy.serve()
        #expect(
            try await eventually(within: 60) {
                try await failingChannels().values.count { $0["waiting"] as? Int == 1 } == 2
            }, "\(service.error)")
        let channels = try await failingChannels()
        #expect(Set(channels.keys) == ["ntfy", "webhook"])
        let first = try #require(channels["ntfy"]?["since"] as? Int)
        #expect((began...Int(Date().timeIntervalSince1970)).contains(first))
        let rejected =
            "The server at \(ntfy.peer.url) rejects the credential (status 401): set ntfy.token or ntfy.tokenFile"
        let errors = [("ntfy", rejected), ("webhook", "127.0.0.1:9")]
        for (channel, words) in errors {
            #expect((channels[channel]?["trouble"] as? String)?.contains(words) == true, "\(channel)")
        }
        for (text, beginnings) in [
            (try await ntfy.status(), ["ntfy: ", "Webhook: "]),
            (
                try await Program.tracker.run("check --doctor --config \(ntfy.config.path)").output,
                ["warn ntfy ", "warn webhook "]
            ),
            (
                try await Program.gateway.run("doctor --config \(ntfy.config.path)").output,
                ["note ntfy: last error of a service: ", "note webhook: last error of a service: "]
            ),
        ] {
            for (beginning, (_, words)) in zip(beginnings, errors) {
                let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(beginning) }, "\(text)")
                #expect(
                    line.contains(words) && line.contains(". Since 20") && line.hasSuffix(" 1 notification waits."),
                    "\(line)")
            }
            #expect(!text.contains("secret") && !text.contains("my-water"), "\(text)")
        }

        // A restarted service still has the time of the first failure. A resolved failure is no longer reported.
        try await service.kill()
        #expect(try await failingSince("ntfy") == first)
        service = try ntfy.serve()
        await service.says("ntfy: ")
        #expect(try await failingSince("ntfy") == first)
        try ntfy.peer.rule("{}")
        #expect(
            try await eventually(within: 60) { try await failingChannels().keys.sorted() == ["webhook"] },
            "\(service.error)")
        #expect(try await !ntfy.status().contains("ntfy: "))
        try await service.stop()
    }
}
