import Foundation
import Support
import Testing

/// The built service with a fake ntfy server.
@Suite struct ServicePocketTests {
    private struct Rig {
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

        func requests(_ count: Int) async throws -> [WebPeer.Seen] {
            let found: [WebPeer.Seen]? = try await event {
                let requests = try await peer.seen()
                return requests.count >= count ? requests : nil
            }
            return try #require(found)
        }
    }

    @Test func `a reminder reaches ntfy, and its button logs a drink`() async throws {
        let rig = try await Rig()
        var service = try rig.serve()
        let request = try #require(try await rig.requests(1).first)
        #expect(
            request.json["title"] as? String == "Hydration Reminder"
                && request.headers["authorization"] == "Bearer tk_s3cret"
        )
        let action = try #require((request.json["actions"] as? [[String: Any]])?.first, "\(request.body)")
        let (url, body) = (try #require(action["url"] as? String), try #require(action["body"] as? String))
        func press(_ body: String) async throws -> String {
            let curl = try #require(Program(system: "curl"))
            return try await curl.run([
                "-sS", "--noproxy", "*", "-m", "20", "-H", "Content-Type: application/json", "-d", body, url,
            ]).output
        }
        await service.says("Notifications go to ntfy at \(rig.peer.url), with a token, buttons to")
        #expect(!service.error.contains("s3cret") && !service.error.contains("my-water"), "\(service.error)")

        try await service.kill()
        service = try rig.serve()
        let answer: String? = try await event {
            let answer = try await press(body)
            return answer.contains("done") ? answer : nil
        }
        #expect(answer == #"{"done":true}"#, "\(service.error)")
        #expect(try await press(body) == #"{"done":false}"#)
        #expect(try await press(body.replacing(/"key":"./, with: "\"key\":\"z")).contains("noSuchNotification"))
        #expect(try await rig.status().contains("250 ml"))
        #expect(try await rig.requests(1).count == 1)
        let end = try await service.stop()
        #expect(end.exitCode == 0, "\(end.error)")
    }

    @Test func `ntfy delivery survives a lost server and a killed service`() async throws {
        let rig = try await Rig("[webhook]\nurl = \"http://127.0.0.1:9\"\nsecret = \"gt_s3cret\"\n")
        try await rig.peer.rule(#"{"status": 503}"#)
        var service = try rig.serve()
        await service.says("ntfy: ", "Webhook: ")
        service.send(signal: SIGKILL)
        let killed = try await service.finish()
        #expect(
            killed.error.components(separatedBy: "ntfy: ").count == 2 && !killed.error.contains("gt_s3cret"),
            "\(killed.error)")
        let tries = try await rig.requests(1).count
        try await rig.peer.rule("{}")
        service = try rig.serve()
        #expect(try await rig.requests(tries + 1).count == tries + 1)
        try await service.stop()
        #expect(try await rig.requests(tries + 1).count == tries + 1)
    }

    /// The report names the server that rejects requests or is down, the time since then, and the number of pending
    /// notifications. It ends when delivery works again.
    @Test func `status and doctor report a rejecting server`() async throws {
        let rig = try await Rig("[webhook]\nurl = \"http://127.0.0.1:9/hook-secret\"\n")
        try await rig.peer.rule(#"{"status": 401}"#)
        func troubles() async throws -> [String: [String: Any]] {
            let text = try await Program.tracker.run("status --json --config \(rig.config.path)").output
            let state = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            #expect(state?["dailyTotalMl"] is Int, "\(text)")
            let list = try #require(state?["outletTroubles"] as? [[String: Any]], "\(text)")
            return Dictionary(list.map { ($0["outlet"] as? String ?? "", $0) }) { $1 }
        }
        func since(_ outlet: String) async throws -> Int? { try await troubles()[outlet]?["since"] as? Int }
        let began = Int(Date().timeIntervalSince1970)
        var service = try rig.serve()
        let isReported = try await event(within: 60) {
            try await troubles().values.count { $0["waiting"] as? Int == 1 } == 2 ? true : nil
        }
        #expect(isReported == true, "\(service.error)")
        #expect(try await Set(troubles().keys) == ["ntfy", "webhook"])
        let first = try #require(try await since("ntfy"))
        #expect((began...Int(Date().timeIntervalSince1970)).contains(first))
        let wanted = [
            "ntfy":
                "The server at \(rig.peer.url) rejects the credential (status 401): set ntfy.token or ntfy.tokenFile.",
            "webhook": "127.0.0.1:9",
        ]
        let titles = ["ntfy": "ntfy", "webhook": "Webhook"]
        let status = try await rig.status()
        let check = try await Program.tracker.run("check --doctor --json --config \(rig.config.path)").output
        let doctor = try await Program.gateway.run("doctor --json --config \(rig.config.path)").output
        let plain = try await Program.gateway.run("doctor --config \(rig.config.path)").output
        func found(_ text: String, _ list: String, _ name: String, _ detail: String) throws -> [String: String] {
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
            let all = (object[list] as? [[String: Any]] ?? []).map {
                ($0[name] as? String ?? "", $0[detail] as? String ?? "")
            }
            return Dictionary(all) { $0 + $1 }
        }
        let (checked, diagnosed) = (
            try found(check, "findings", "name", "detail"), try found(doctor, "checks", "check", "found")
        )
        for (outlet, words) in wanted {
            #expect(
                try await (troubles()[outlet]?["trouble"] as? String)?.contains(
                    words.hasSuffix(".") ? String(words.dropLast()) : words) == true, "\(outlet)")
            let line = try #require(
                status.split(separator: "\n").first { $0.contains("\(titles[outlet] ?? ""): ") && $0.contains(words) },
                "\(outlet): \(status)")
            for text in [String(line), checked[outlet] ?? "", diagnosed[outlet] ?? ""] {
                #expect(
                    text.contains(words) && text.contains("Since 20") && text.contains("1 notification waits."),
                    "\(outlet): \(text)")
            }
            #expect(
                plain.contains("note \(outlet): last error of a service: ")
                    && (diagnosed[outlet] ?? "").hasPrefix("last error of a service: "), "\(plain)")
        }
        for text in [status, check, doctor, plain] {
            #expect(!text.contains("secret") && !text.contains("my-water"), "\(text)")
        }

        // A restarted service still has the time of the first failure. A resolved failure is no longer reported.
        try await service.kill()
        #expect(try await since("ntfy") == first)
        service = try rig.serve()
        await service.says("ntfy: ")
        #expect(try await since("ntfy") == first)
        try await rig.peer.rule("{}")
        #expect(
            try await eventually(within: 60) { try await troubles().keys.sorted() == ["webhook"] }, "\(service.error)")
        #expect(try await !rig.status().contains("ntfy: "))
        try await service.stop()
    }

    @Test(arguments: [
        ("url = \"https://ntfy.example\"", "topic"),
        ("url = \"https://h/t\"\ntoken-file = \"/nowhere/token\"", "/nowhere/token"),
    ])
    func `an invalid token file is reported at the start`(lines: String, word: String) async throws {
        let folder = try TemporaryFolder()
        let store = "store = \"\(folder.file("a.sqlite"))\""
        try folder.write("\(store)\n[ntfy]\n\(lines)\n", to: "waterh.toml")
        let result = try await Program.gateway.run(
            "run --config \(folder.file("waterh.toml")) --link unix:\(folder.file("b.sock"))")
        #expect(result.exitCode != 0 && result.error.contains(word) && result.error.contains("ntfy"), "\(result.error)")
    }
}
