import Foundation
@testable import WebServer
import Synchronization
import Testing
import TrackerCore

/// Codes that let somebody in: for how long, how often, and what becomes of them when an answer is lost.
@Suite struct PairingTests {
    private static let grant = PairingCodes.Grant(scope: .control, label: "phone")
    private static let start = ServedHousehold.noon

    @Test func aCodeEndsAfterItsTimeAlsoWhereTheClockIsPutBack() {
        var codes = PairingCodes()
        let late = codes.issue(Self.grant, at: Self.start, random: { 7 })
        #expect(late == "00000007")
        #expect(codes.redeem(late, from: "a", at: Self.start.advanced(seconds: 300)) == .wrong)
        let back = codes.issue(Self.grant, at: Self.start.advanced(seconds: 1000), random: { 8 })
        #expect(codes.redeem(back, from: "b", at: Self.start.advanced(seconds: -90_000)) == .wrong)
        let good = codes.issue(Self.grant, at: Self.start.advanced(seconds: 2000), random: { 123 })
        #expect(
            codes.redeem("0000 0123", from: "c", at: Self.start.advanced(seconds: 2140))
                == .letIn(Self.grant, instead: nil) && good == "00000123")
    }

    /// An adversary's finding: who failed on purpose delayed everybody, and ten failures ended everybody's code.
    @Test func whoGuessesWrongWaitsAndNobodyElseDoes() {
        var codes = PairingCodes()
        let good = codes.issue(Self.grant, at: Self.start, random: { 123 })
        var now = Self.start
        var pauses: [Int] = []
        for _ in 0..<9 {
            #expect(codes.redeem("11111111", from: "stranger", at: now) == .wrong)
            guard case .wait(let seconds) = codes.redeem(good, from: "stranger", at: now) else {
                return #expect(Bool(false), "a stranger who guessed wrong waits")
            }
            pauses.append(seconds)
            now = now.advanced(seconds: Double(min(seconds, 25)))
            if seconds > 25 { break }
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32])
        #expect(codes.redeem(good, from: "anna's phone", at: now) == .letIn(Self.grant, instead: nil))
        // An adversary's earlier finding: typos of long ago say nothing of a fresh code.
        #expect(codes.redeem("11111111", from: "stranger", at: now.advanced(seconds: 400)) == .wrong)
        #expect(codes.redeem("11111111", from: "stranger", at: now.advanced(seconds: 401)) == .wrong)
    }

    @Test func manyWhoGuessEndACodeAndTheNextOneBeginsToCountAnew() {
        var codes = PairingCodes()
        let first = codes.issue(Self.grant, at: Self.start, random: { 1 })
        let later = Self.start.advanced(seconds: 1)
        for number in 1..<PairingCodes.guesses {
            #expect(codes.redeem("11111111", from: "bot \(number)", at: Self.start) == .wrong)
        }
        #expect(codes.redeem(first, from: "phone", at: later) == .letIn(Self.grant, instead: nil))
        #expect(codes.redeem("11111111", from: "bot 0", at: later) == .wrong)
        #expect(codes.redeem(first, from: "phone", at: later) == .wrong)
        // Somebody at the terminal asks for another.
        let second = codes.issue(Self.grant, at: later, random: { 2 })
        for number in 0..<PairingCodes.guesses - 1 {
            #expect(codes.redeem("11111111", from: "other \(number)", at: later) == .wrong)
        }
        #expect(codes.redeem(second, from: "tablet", at: later) == .letIn(Self.grant, instead: nil))
    }

    @Test func ofAMillionWhoGuessAThousandAreRemembered() {
        var codes = PairingCodes()
        for number in 0..<PairingCodes.peerLimit + 5 {
            #expect(
                codes.redeem("1", from: "\(number)", at: Self.start.advanced(seconds: Double(number) / 1000)) == .wrong)
        }
        let now = Self.start.advanced(seconds: 0.99)
        #expect(codes.redeem("1", from: "0", at: now) == .wrong)
        #expect(codes.redeem("1", from: "900", at: now) == .wait(1))
    }

    @Test func aUsedCodeLetsInAgainWhoeverUsedItAndNobodyElse() {
        var codes = PairingCodes()
        let code = codes.issue(Self.grant, at: Self.start, random: { 5 })
        #expect(codes.redeem(code, key: "k1", from: "a", at: Self.start) == .letIn(Self.grant, instead: nil))
        codes.take(code, key: "k1", token: "t1")
        #expect(codes.redeem(code, key: "k1", from: "b", at: Self.start) == .letIn(Self.grant, instead: "t1"))
        codes.take(code, key: "k1", token: "t2")
        #expect(codes.redeem(code, key: "k1", from: "b", at: Self.start) == .letIn(Self.grant, instead: "t2"))
        #expect(codes.redeem(code, key: "k2", from: "c", at: Self.start) == .used)
        #expect(codes.redeem(code, key: nil, from: "d", at: Self.start) == .used)
        #expect(codes.redeem(code, key: "k1", from: "e", at: Self.start.advanced(seconds: 300)) == .wrong)
    }

    @Test func aPairingWhoseAnswerWasLostIsDoneAgainAndLeavesOneToken() async throws {
        try await ServedHousehold.serve { house async throws in
            let code = try #require(
                try await house.ask("POST", "/api/v1/pairings", #"{"label": "phone"}"#, headers: house.page).json[
                    "code"] as? String)
            let body = "{\"code\": \"\(code)\"}"
            let key = ["Idempotency-Key": "pair-1", "X-Forwarded-For": "203.0.113.9"]
            var cookies: [String] = []
            for _ in 0..<3 {
                let paired = try await house.ask("POST", "/api/v1/pair", body, headers: key)
                #expect(paired.status == 200, "\(paired.body)")
                cookies.append(String(try #require(paired.headers["set-cookie"]).prefix { $0 != ";" }))
            }
            #expect(Set(cookies).count == 3)
            let states = try await [0, 1, 2].asyncMap {
                try await house.ask(
                    "GET", "/api/v1/state", headers: ["Cookie": cookies[$0], "X-Forwarded-For": "203.0.113.9"]
                ).status
            }
            #expect(states == [401, 401, 200])
            let tokens =
                try await house.ask("GET", "/api/v1/tokens", headers: house.page).json["tokens"] as? [[String: Any]]
            #expect(tokens?.filter { $0["isRevoked"] as? Bool == false }.count == 1)
            // Without the key, or with another, it is refused in words that say what to do.
            for other in [[:], ["Idempotency-Key": "pair-2"]] {
                let refused = try await house.ask(
                    "POST", "/api/v1/pair", body,
                    headers: other.merging(["X-Forwarded-For": "198.51.100.\(other.count)"]) { $1 })
                #expect(refused.status == 403 && refused.code == "codeUsed", "\(refused.body)")
            }
        }
    }

    /// An adversary's finding: a machine whose clock was put right meanwhile did not know the code any more, and one
    /// whose clock was put back knew it for longer.
    @Test(arguments: [86_400, -86_400, 290] as [Double]) func fiveMinutesPassWhateverTheClockSays(lead: Double)
        async throws
    {
        let clock = Mutex<Double>(0)
        let passed = Mutex<Double>(0)
        let noon = ServedHousehold.noon
        try await ServedHousehold.serve(
            now: { noon.advanced(seconds: clock.withLock { $0 }) },
            passing: { noon.advanced(seconds: passed.withLock { $0 }) }
        ) { house async throws in
            var codes: [String] = []
            for _ in 0..<2 {
                codes.append(
                    try #require(
                        try await house.ask("POST", "/api/v1/pairings", "{}", headers: house.page).json["code"]
                            as? String))
            }
            func isLetIn(_ code: String, _ from: String) async throws -> Bool {
                try await house.ask(
                    "POST", "/api/v1/pair", "{\"code\": \"\(code)\"}", headers: ["X-Forwarded-For": from]
                ).status == 200
            }
            clock.withLock { $0 = lead }
            passed.withLock { $0 = 299 }
            #expect(try await isLetIn(codes[0], "203.0.113.9"))
            passed.withLock { $0 = 300 }
            #expect(try await !isLetIn(codes[1], "203.0.113.10"))
        }
    }

    @Test func strangersWhoFailDelayNobodyElse() async throws {
        try await ServedHousehold.serve { house async throws in
            let code = try #require(
                try await house.ask("POST", "/api/v1/pairings", "{}", headers: house.page).json["code"] as? String)
            func tryIt(_ code: String, _ from: String) async throws -> Int {
                try await house.ask(
                    "POST", "/api/v1/pair", "{\"code\": \"\(code)\"}", headers: ["X-Forwarded-For": from]
                ).status
            }
            // The last address is what this machine's own proxy has heard; those before it anybody can write.
            #expect(try await tryIt("11111111", "192.0.2.1, 203.0.113.9") == 403)
            #expect(try await tryIt("11111111", "192.0.2.2, 203.0.113.9") == 429)
            #expect(try await tryIt("11111111", "2001:db8::1") == 403)
            #expect(try await tryIt("11111111", "2001:db8::2") == 429)
            #expect(try await tryIt(code, "192.0.2.1") == 200)
        }
    }

    @Test func aSecretWhoseAnswerWasLostIsToldSo() async throws {
        try await ServedHousehold.serve { house async throws in
            for (path, status) in [("/api/v1/tokens", 201), ("/api/v1/pairings", 201)] {
                let headers = house.page.merging(["Idempotency-Key": "secret \(path.count)".replacing(" ", with: "-")])
                { $1 }
                #expect(try await house.ask("POST", path, "{}", headers: headers).status == status)
                let again = try await house.ask("POST", path, "{}", headers: headers)
                #expect(
                    again.status == 409 && again.code == "secretGivenOnce" && again.body.contains("the list of tokens"),
                    "\(again.body)")
            }
            let made = try #require(
                try await house.ask("GET", "/api/v1/tokens", headers: house.page).json["tokens"] as? [[String: Any]])
            #expect(made.count == 1)
            // What nobody holds is taken back by its place in the list.
            let id = try #require(made[0]["id"] as? String)
            #expect(
                try await house.ask("DELETE", "/api/v1/tokens/\(id)", headers: house.page).json["revoked"] as? Int == 1)
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
