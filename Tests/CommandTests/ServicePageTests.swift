import Foundation
import Support
import Testing

/// The page of the running service, and the commands that ask it.
@Suite struct ServicePageTests {
    /// A service on a pair of its own, with its page at a port of its own.
    private struct Served {
        let pair: Pair
        let service: RunningProgram
        let page: String
        let environment: [String: String]

        init(_ more: [String] = []) async throws {
            pair = try await Pair()
            // Short: a socket's path has 107 bytes at most.
            environment = ["XDG_RUNTIME_DIR": pair.folder.path, "TMPDIR": pair.folder.path, "DBUS_SESSION_BUS_ADDRESS": ""]
            service = try Program("waterh-gateway").start(
                ["run", "--link", pair.socket, "--store", pair.store, "--listen", "127.0.0.1:0", "--verbose"] + more, environment: environment)
            let running = service
            let line = try #require(await event {
                running.error.split(separator: "\n").first { $0.contains("The page is at http://") }.map(String.init)
            }, "\(running.error)")
            page = try #require(line.firstMatch(of: /http:\/\/[0-9.:]+\//).map { String($0.0) })
        }

        func curl(_ path: String, _ arguments: [String] = []) async throws -> (status: Int, body: String) {
            let result = try await Program(path: "/usr/bin/curl").run(["-sS", "--max-time", "20", "-w", "\n%{http_code}", page + path] + arguments)
            let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
            return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
        }

        func gateway(_ arguments: [String]) async throws -> Program.Result {
            try await Program("waterh-gateway").run(arguments + ["--store", pair.store], environment: environment)
        }

        func total() async throws -> Int? {
            let body = try await curl("api/v1/state").body
            return (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])?["dailyTotalMl"] as? Int
        }
    }

    @Test func aSipIsOnThePageAfterANudge() async throws {
        let served = try await Served()
        _ = await event { served.service.error.contains("Next poll") ? true : nil }
        try await served.pair.sip(250)
        let nudge = try await served.gateway(["nudge"])
        #expect(nudge.exitCode == 0 && nudge.output == "The service polls now.\n", "\(nudge.error)")
        #expect(try await event { try await served.total() == 250 ? true : nil } == true, "\(served.service.error)")
        let polls = try await served.curl("api/v1/polls").body
        #expect(polls.contains("\"new\":1"), "\(polls)")
        #expect(try await served.curl("metrics").body.contains("waterh_records_new_total 1"))
        served.service.send(signal: SIGTERM)
        #expect(try await served.service.finish().exitCode == 0)
    }

    @Test func aScriptIsLetInByACodeAndItsTapCountsOnceAcrossARestart() async throws {
        let served = try await Served()
        let pair = try await served.gateway(["pair", "--json", "--scope", "log", "--label", "script"])
        let code = try #require(pair.output.firstMatch(of: /"code":"([0-9]{8})"/)?.1, "\(pair.output) \(pair.error)")
        let let_in = try await served.curl("api/v1/pair", ["-H", "Content-Type: application/json", "-d", "{\"code\":\"\(code)\",\"token\":true}"])
        let token = try #require(let_in.body.firstMatch(of: /"token":"([a-z0-9_]+)"/)?.1)
        let tap = [
            "-H", "Authorization: Bearer \(token)", "-H", "Idempotency-Key: tap", "-H", "Content-Type: application/json", "-d", "{\"ml\":250}",
        ]
        #expect(try await served.curl("api/v1/drinks", tap).status == 201)
        served.service.send(signal: SIGKILL)
        _ = try? await served.service.finish()
        let again = try Program("waterh-gateway").start(
            ["run", "--link", served.pair.socket, "--store", served.pair.store, "--listen", String(served.page.dropFirst(7).dropLast())], environment: served.environment)
        defer { again.send(signal: SIGTERM) }
        #expect(try await event { try await served.curl("api/v1/drinks", tap).status == 201 ? true : nil } == true)
        #expect(try await served.total() == 250)
    }

    @Test func twoServicesAtOnePlaceGoOnAndSaySo() async throws {
        let served = try await Served()
        let other = try await Pair()
        let second = try Program("waterh-gateway").start(
            ["run", "--link", other.socket, "--store", other.store, "--listen", String(served.page.dropFirst(7).dropLast())],
            environment: ["XDG_RUNTIME_DIR": other.folder.path, "TMPDIR": other.folder.path])
        defer { second.send(signal: SIGTERM) }
        #expect(await event { second.error.contains("The page cannot be shown") ? true : nil } == true)
        try await other.sip(100)
        #expect(try await served.curl("healthz").status == 200)
        served.service.send(signal: SIGTERM)
        #expect(try await served.service.finish().exitCode == 0)
    }

    @Test func aSecondServiceOnOneStoreLeavesTheSocketOfTheFirst() async throws {
        let served = try await Served()
        let second = try Program("waterh-gateway").start(
            ["run", "--link", served.pair.socket, "--store", served.pair.store, "--listen", "off"], environment: served.environment)
        #expect(await event { second.error.contains("another service listens there") ? true : nil } == true, "\(second.error)")
        second.send(signal: SIGTERM)
        #expect(try await second.finish().exitCode == 0)
        let nudge = try await served.gateway(["nudge"])
        #expect(nudge.exitCode == 0, "\(nudge.error)")
    }

    @Test func aCommandReachesTheBottleThroughTheService() async throws {
        let served = try await Served()
        let reply = try await served.curl("api/v1/bottle/commands", [
            "-H", "Origin: \(served.page.dropLast())", "-H", "Content-Type: application/json", "-d", #"{"command":"goal","arguments":["2000"]}"#,
        ])
        #expect(reply.status == 200 && reply.body.contains("goal"), "\(reply)")
    }

    @Test(arguments: ["8077", "localhost:99999", "::1:8077", "unix:relative"]) func aPlaceThatIsNoneIsRefused(place: String) async throws {
        let result = try await Program("waterh-gateway").run(["run", "--listen", place, "--store", "/nowhere/x.sqlite"])
        #expect(result.exitCode == 2 && result.error.contains("no place for the page"), "\(result.error)")
    }

    @Test func withoutAServiceTheCommandsSayWhatToStart() async throws {
        let folder = try TemporaryFolder()
        for verb in ["nudge", "pair"] {
            let result = try await Program("waterh-gateway").run([verb, "--store", folder.file("w.sqlite")], environment: ["XDG_RUNTIME_DIR": folder.path])
            #expect(result.exitCode == 1 && result.error.contains("Start it with: waterh-gateway"), "\(result.error)")
        }
    }
}
