import Foundation
import Logging
import Store
import Synchronization
import Testing
import TrackerCore
import TrackerSupport

@testable import TrackerService
@testable import WebServer

@Suite struct AccessCodeTests {
    /// Access codes with a clock that the test sets. The first code has zeros only, the second ones, and so on.
    private final class Bench: Sendable {
        let codes: AccessCodes
        static let grant = AccessCodes.Grant(scope: .control, label: "phone")

        init() {
            let time = time
            codes = AccessCodes(log: .silent, random: time.draw, uptime: { time.now })
        }

        private let time = Time()
        private final class Time: Sendable {
            private let state = Mutex((seconds: 0.0, drawn: UInt32(0)))
            var now: Instant { TestServer.noon.advanced(seconds: state.withLock { $0.seconds }) }
            func pass(_ seconds: Double) { state.withLock { $0.seconds += seconds } }
            @Sendable func draw() -> UInt32 {
                state.withLock { state in
                    state.drawn += 1
                    return (state.drawn - 1) / 10
                }
            }
        }

        static func token(for grant: AccessCodes.Grant) -> NewToken {
            NewToken(id: "id", label: grant.label, scope: grant.scope, token: "secret")
        }

        func pass(_ seconds: Double) { time.pass(seconds) }
        func make() async -> String { await codes.make(Self.grant, for: "a test") }

        func redeem(_ code: String, from client: String = "a") async -> AccessCodes.Outcome {
            await codes.redeem(code, key: nil, from: client) { grant, _ in Self.token(for: grant) }
        }
    }

    private let accepted = AccessCodes.Outcome.accepted(Bench.token(for: Bench.grant))

    @Test func `a code is valid once, for ten minutes, in any letter case`() async throws {
        let bench = Bench()
        let (first, second, third) = (await bench.make(), await bench.make(), await bench.make())
        #expect([first, second, third] == ["0000000000", "1111111111", "2222222222"])
        bench.pass(599)
        #expect(await bench.redeem("ooooo-OOOOO") == accepted)
        #expect(await bench.redeem("0000000000", from: "b") == .used)
        #expect(await bench.redeem("iIlL1 11111") == accepted)
        bench.pass(1)
        #expect(await bench.redeem(third) == .wrong)
    }

    @Test func `wrong codes slow down only the client that enters them`() async throws {
        let bench = Bench()
        let code = await bench.make()
        var pauses: [Int] = []
        for _ in 0..<7 {
            #expect(await bench.redeem("ZZZZZZZZZZ", from: "guesser") == .wrong)
            guard case .wait(let seconds) = await bench.redeem(code, from: "guesser") else {
                Issue.record("a client that entered a wrong code waits")
                return
            }
            pauses.append(seconds)
            bench.pass(Double(seconds))
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60])
        #expect(await bench.redeem(code, from: "phone") == accepted)
    }

    @Test func `ten wrong codes invalidate all codes for that client only`() async throws {
        let bench = Bench()
        for _ in 0..<9 {
            #expect(await bench.redeem("ZZZZZZZZZZ", from: "guesser") == .wrong)
            bench.pass(60)
        }
        #expect(await bench.redeem("ZZZZZZZZZZ", from: "guesser") == .wrong)
        #expect(await bench.redeem("ZZZZZZZZZZ", from: "guesser") == .wait(600))
        let code = await bench.make()
        bench.pass(599)
        #expect(await bench.redeem(code, from: "guesser") == .wait(1))
        #expect(await bench.redeem(code, from: "phone") == accepted)
    }

    @Test func `wrong codes of a hundred clients invalidate no code`() async throws {
        let bench = Bench()
        let code = await bench.make()
        for number in 0..<AccessCodes.clientLimit + 100 {
            #expect(await bench.redeem("ZZZZZZZZZZ", from: "\(number)") == .wrong)
        }
        #expect(await bench.redeem(code, from: "phone") == accepted)
    }

    @Test func `a repeated redemption leaves one token`() async throws {
        let server = try await TestServer()
        let code = try #require(try await server.post("access-codes", #"{"label": "phone"}"#).json["code"] as? String)
        let body = "{\"code\": \"\(code)\"}"
        let key = ["Idempotency-Key": "pair-1", "X-Forwarded-For": "203.0.113.9"]
        var cookies: [String] = []
        for _ in 0..<3 {
            let paired = try await server.askUnsigned("POST", "/api/v1/sign-in", body, headers: key)
            #expect(paired.status == 200, "\(paired.body)")
            cookies.append(String(try #require(paired.headers["set-cookie"]).prefix { $0 != ";" }))
        }
        #expect(Set(cookies).count == 3)
        for (cookie, status) in zip(cookies, [401, 401, 200]) {
            let headers = ["Cookie": cookie, "X-Forwarded-For": "203.0.113.9"]
            #expect(try await server.get("state", headers: headers).status == status)
        }
        let tokens = try await server.get("tokens").json["tokens"] as? [[String: Any]]
        #expect(tokens?.filter { $0["isRevoked"] as? Bool == false }.count == 2)
        // Without the key, or with another one, the request is rejected with an action.
        for other in [[:], ["Idempotency-Key": "pair-2"]] {
            let refused = try await server.askUnsigned(
                "POST", "/api/v1/sign-in", body,
                headers: other.merging(["X-Forwarded-For": "198.51.100.\(other.count)"]) { $1 })
            #expect(refused.status == 403 && refused.code == "codeUsed", "\(refused.body)")
        }
    }

    @Test func `clients that send wrong codes do not delay others`() async throws {
        let server = try await TestServer()
        let code = try #require(try await server.post("access-codes", "{}").json["code"] as? String)
        func tryIt(_ code: String, _ from: String) async throws -> Int {
            try await server.askUnsigned(
                "POST", "/api/v1/sign-in", "{\"code\": \"\(code)\"}", headers: ["X-Forwarded-For": from]
            ).status
        }
        // Only the last address is from this machine's own proxy. A client can forge the others.
        #expect(try await tryIt("ZZZZZZZZZZ", "192.0.2.1, 203.0.113.9") == 403)
        #expect(try await tryIt("ZZZZZZZZZZ", "192.0.2.2, 203.0.113.9") == 429)
        #expect(try await tryIt("ZZZZZZZZZZ", "2001:db8::1") == 403)
        #expect(try await tryIt("ZZZZZZZZZZ", "2001:db8::2") == 429)
        #expect(try await tryIt(code, "192.0.2.1") == 200)
    }

    @Test func `a repeated request does not return a secret again`() async throws {
        let server = try await TestServer()
        for path in ["tokens", "access-codes"] {
            let headers = ["Idempotency-Key": path]
            #expect(try await server.post(path, "{}", headers: headers).status == 201)
            #expect(try #require(try server.store.request(path)).response == nil)
            let again = try await server.post(path, "{}", headers: headers)
            #expect(
                again.status == 409 && again.code == "secretGivenOnce" && again.body.contains("the list of tokens"),
                "\(again.body)")
        }
        let made = try #require(try await server.get("tokens").json["tokens"] as? [[String: Any]])
        #expect(made.count == 2)
        // A token can be revoked by its position in the list.
        let token = try #require(made.first { $0["label"] as? String == "http" })
        #expect(token["scope"] as? String == "log", "the default scope")
        let id = try #require(token["id"] as? String)
        #expect(try await server.delete("tokens/\(id)").json["revoked"] as? Int == 1)
    }
}
