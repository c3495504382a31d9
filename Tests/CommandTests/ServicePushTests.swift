import Foundation
import PushSupport
import Support
import Testing

/// The real service pushes to a browser, by way of a real server that speaks TLS in its push service's place.
@Suite struct ServicePushTests {
    private static var afternoon: String {
        let lead = 14 - Int(Date().timeIntervalSince1970) / 3600 % 24
        return lead == 0 ? "UTC" : "Etc/GMT\(lead > 0 ? "-" : "+")\(lead.magnitude)"
    }

    /// A browser subscribes by the page, is told what is due also after the service was killed, once, and its button
    /// logs a cup.
    @Test func aReminderReachesABrowserWhosePageIsClosed() async throws {
        let (pair, port, browser) = (try await Pair(), try Broker.freePort(), try PushBrowser())
        let script = """
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -addext basicConstraints=critical,CA:TRUE \
            -keyout ca.key -out ca.pem
            openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr
            printf 'subjectAltName=DNS:localhost' > names
            openssl x509 -req -days 2 -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out \
            server.pem
            """
        #expect(try await Program(path: "/bin/sh").run(["-c", script], directory: pair.folder.path).exitCode == 0)
        let peer = try await WebPeer(certificate: (pair.folder.file("server.pem"), pair.folder.file("server.key")))
        try Data("link = \"\(pair.socket)\"\nstore = \"\(pair.store)\"\nzone = \"\(Self.afternoon)\"\n".utf8).write(
            to: pair.folder.url("waterh.toml"))
        let config = ["--config", pair.folder.file("waterh.toml")]
        for (name, value) in [
            ("push.caFile", pair.folder.file("ca.pem")), ("push.contact", "mailto:me@example.org"),
            ("reminders.enabled", "false"),
        ] {
            #expect(try await Program("waterh-tracker").run(["settings", "set", name, value] + config).exitCode == 0)
        }
        func serve() throws -> RunningProgram {
            try Program("waterh-gateway").start(["run", "--listen", "127.0.0.1:\(port)"] + config)
        }
        let curl = try #require(Program(system: "curl"))
        func ask(_ path: String, _ body: String? = nil) async throws -> [String: Any] {
            let more =
                body.map {
                    ["-H", "Content-Type: application/json", "-H", "Origin: http://127.0.0.1:\(port)", "-d", $0]
                } ?? []
            let answer = try await curl.run(
                ["-sS", "--noproxy", "*", "-m", "20"] + more + ["http://127.0.0.1:\(port)/api/v1/\(path)"])
            return (try? JSONSerialization.jsonObject(with: Data(answer.outputBytes)) as? [String: Any]) ?? [:]
        }
        var service = try serve()
        let key: String? = try await event { try await ask("push")["publicKey"] as? String }
        let body =
            #"""
            {"endpoint": "https://localhost:\#(peer.port)/send/secret-place", "p256dh": "\#(browser.publicKey)", \#
            "auth": "\#(browser.secret)", "label": "Firefox, Linux"}
            """#
        #expect(try await ask("push/subscriptions", body)["label"] as? String == "Firefox, Linux")
        #expect(
            try await Program("waterh-tracker").run(["settings", "set", "reminders.enabled", "true"] + config).exitCode
                == 0)
        let seen = try #require(try await peer.seen(1, within: 40).first, "\(service.error)")
        let told = try browser.json(seen)
        #expect(told["title"] as? String == "Hydration Reminder" && told["page"] as? String == "/")
        #expect(
            try PushBrowser.claims(seen.headers["authorization"] ?? "", key: try #require(key))?["sub"] as? String
                == "mailto:me@example.org")
        #expect(
            await event { service.error.contains("Notifications go to Firefox, Linux, a browser") ? true : nil } == true
                && !service.error.contains("secret-place"), "\(service.error)")

        service.send(signal: SIGKILL)
        _ = try await service.finish()
        service = try serve()
        let press = #"{"action": "log-cup", "key": "\#(told["key"] as? String ?? "")"}"#
        #expect(try await event { try await ask("press", press)["done"] as? Bool } == true)
        #expect(try await ask("press", press)["done"] as? Bool == false)
        #expect(try await Program("waterh-tracker").run(["status"] + config).output.contains("250 ml"))
        #expect(try await peer.seen().count == 1)
        service.send(signal: SIGTERM)
        #expect(try await service.finish(limit: 20).exitCode == 0)
    }
}
