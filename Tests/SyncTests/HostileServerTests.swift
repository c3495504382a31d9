import Foundation
import Store
import Support
import TrackerService
import Testing
import TrackerCore

/// A sync server is untrusted: no response stops a command or damages the store.
@Suite struct HostileServerTests {
    let store: TrackerStore

    init() throws { store = try TrackerStore(inMemory: nil) }

    private static let now: Int64 = 1_781_526_000

    private func after(_ seconds: Int64 = 0) -> WriteContext { context(Self.now + seconds) }

    private func pass(_ server: SyncServer, at seconds: Int64 = 10) async throws -> SyncClient.Pass {
        let client = try #require(try SyncClient(store.settings(), timeoutSeconds: 5))
        return try await client.pass(store, now: { Instant(seconds: Self.now + seconds) }, zone: .utc)
    }

    private func session(_ server: SyncServer) throws -> WaterlineSession {
        try store.changeSettings([("sync.url", server.base.absoluteString)], after())
        return try store.startSession(after()).session
    }

    /// Neither the log, nor the world-readable state, nor the broker gets the path.
    @Test func `the path of the server's address is not logged`() async throws {
        for user in ["me@", "me:s3cret@"] {
            let refusal = #expect(throws: SettingRefusal.self) {
                try store.changeSettings([("sync.url", "http://\(user)127.0.0.1:9/sync")], after())
            }
            #expect(refusal?.sentence.contains("s3cret") == false)
        }
        try store.changeSettings([("sync.url", "http://127.0.0.1:9/t0ken?key=s3cret")], after())
        _ = try store.startSession(after())
        let client = try #require(try SyncClient(store.settings(), timeoutSeconds: 5))
        let problem = try #require(
            try await client.pass(store, now: { Instant(seconds: Self.now + 10) }, zone: .utc).problem)
        #expect(problem.hasPrefix("The server at http://127.0.0.1:9 cannot be reached: C"), "\(problem)")
        #expect(!problem.contains("t0ken") && !problem.contains("s3cret"))
        #expect(try store.syncReport().report.problem == problem)
    }

    /// Invalid rows of a server, with the reason in the error.
    static let badSessions: [(String, String)] = [
        (#""startTime": -9223372036854775808"#, "startTime"), (#""startTime": 9223372036854775807"#, "startTime"),
        (#""startTime": "yesterday""#, "startTime"), (#""startTime": null"#, "startTime"),
        (#""startTime": 1e30"#, "startTime"),
        (#""startTime": 1781526000000, "endTime": 1781525999999, "isActive": 0"#, "endTime is before"),
        (#""startTime": 1781526000000, "endTime": 1781526000000, "isActive": 1"#, "contradict"),
        (#""startTime": 1781526000000, "isActive": 0"#, "contradict"),
        (#""startTime": 1781526000000, "isActive": 2"#, "isActive"),
        (#""startTime": 1781526000000, "isActive": 1, "sealed": 1"#, "sealed"),
        (#""startTime": 1781526000000, "isActive": 1, "ruleN": 0"#, "ruleN"),
        (#""startTime": 1781526000000, "isActive": 1, "threshold": 9223372036854775807"#, "threshold"),
        (#""startTime": 1781526000000, "isActive": 1, "waterOz": -1"#, "waterOz"),
        (#""startTime": 1781526000000, "isActive": 1, "bottleWater": "gin""#, "bottleWater"),
        (#""startTime": 1781526000000, "isActive": 1, "computedSummary": "{}""#, "computedSummary"),
        (#""startTime": 1781526000000, "isActive": 1, "updatedAt": 9223372036854775807"#, "updatedAt"),
        (#""startTime": 1781526000000, "isActive": 1, "userId": 5"#, "userId"),
        (#""startTime": {"a": [1]}"#, "plain values"),
    ]

    @Test(arguments: badSessions)
    func `an invalid session of the server is rejected`(fields: String, reason: String) throws {
        let updated = fields.contains("updatedAt") ? "" : #", "updatedAt": 1781526000000"#
        let user = fields.contains("userId") ? "" : #", "userId": "u""#
        let json = #"[{"id": "bad", "deviceId": "phone", \#(fields)\#(updated)\#(user)}]"#
        let outcome = try store.merge(.session, json: json, after())
        #expect(outcome.applied == 0 && outcome.rejected == 1, "\(outcome)")
        #expect(outcome.rejections.first?.contains(reason) == true, "\(outcome.rejections)")
        #expect(try store.activeSession(at: after().now) == nil)
        _ = try store.preview(after()).snapshot
    }

    static let badLogs: [(String, String)] = [
        (#""timestamp": 9223372036854775807"#, "timestamp"), (#""timestamp": 1781525999000"#, "outside its session"),
        (#""sessionId": "none""#, "no session"), (#""type": "gin""#, "type"),
        (#""standardDrinkEstimate": 1e300"#, "standardDrinkEstimate"),
        (#""standardDrinkEstimate": "many""#, "standardDrinkEstimate"), (#""amountOz": -8"#, "amountOz"),
        (#""abv": 101"#, "abv"),
        (#""source": "bottle""#, "sips"), (#""deleted": 7"#, "deleted"), (#""id": "a|b""#, "|"), (#""id": """#, "id"),
        (#""id": "a\u202eb""#, "id"), (#""deviceId": null"#, "deviceId"), (#""drinkType": "petrol""#, "drinkType"),
    ]

    @Test(arguments: badLogs)
    func `an invalid entry of the server is rejected alone`(field: String, reason: String) throws {
        let session = try store.startSession(after()).session
        func row(_ id: String, _ more: String) -> String {
            let base: [(String, String)] = [
                ("id", #""\#(id)""#), ("sessionId", #""\#(session.id)""#), ("timestamp", "1781526000000"),
                ("type", #""alcohol""#),
                ("source", #""phone""#), ("updatedAt", "1781526000000"), ("deviceId", #""phone""#),
            ]
            let fields =
                base.filter { !more.hasPrefix("\"\($0.0)\"") }.map { "\"\($0.0)\": \($0.1)" }
                + (more.isEmpty ? [] : [more])
            return "{" + fields.joined(separator: ", ") + "}"
        }
        let outcome = try store.merge(.logEntry, json: "[\(row("bad", field)), \(row("good", ""))]", after(5))
        #expect(outcome.applied == 1 && outcome.rejected == 1, "\(outcome)")
        #expect(outcome.rejections.first?.contains(reason) == true, "\(outcome.rejections)")
        #expect(try store.activeSession(at: after(5).now)?.logs.map(\.id) == ["good"])
    }

    @Test(arguments: 1...8) func `an invalid row does not stop the sync`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let values = [
            "null", "0", "1", "-1", "8", "1e300", "0.5", "9223372036854775807", "-9223372036854775808", "1781526000000",
            "1781526100000", "\"\"", "\"x\"", "\"beer\"", "\"water\"", "\"alcohol\"", "true", "[]", "{}",
        ]
        let columns = [
            "id", "userId", "startTime", "endTime", "isActive", "sealed", "ruleN", "bottleWater", "waterOz",
            "threshold", "computedSummary", "sessionId", "timestamp", "type", "drinkType", "sizeOz", "abv",
            "standardDrinkEstimate", "presetId", "amountOz", "source", "deleted", "name", "position", "updatedAt",
            "deviceId",
        ]
        let good = [
            "id": "\"s\"", "userId": "\"u\"", "deviceId": "\"phone\"", "updatedAt": "1781526000000",
            "startTime": "1781526000000", "isActive": "1", "sessionId": "\"s\"", "timestamp": "1781526000000",
            "source": "\"phone\"", "name": "\"N\"", "standardDrinkEstimate": "1",
        ]
        for _ in 0..<20 {
            for entity in RemoteEntity.allCases {
                var row = good
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    row[columns.randomElement(using: &random) ?? "id"] = values.randomElement(using: &random)
                }
                row["type"] = row["type"] ?? "\"alcohol\""
                row["drinkType"] = row["drinkType"] ?? "\"beer\""
                if row["id"] == good["id"], entity != .session {
                    row["id"] = "\"e\(Int.random(in: 0...9, using: &random))\""
                }
                let json = "[{" + row.map { "\"\($0)\": \($1)" }.joined(separator: ", ") + "}]"
                let outcome = try store.merge(entity, json: json, after())
                #expect(outcome.applied + outcome.unchanged + outcome.rejected == 1, "seed \(seed): \(json)")
                #expect(
                    outcome.rejected == outcome.rejections.count && !outcome.rejections.contains { $0.hasSuffix(": ") },
                    "seed \(seed)")
            }
            for moment in [after(), after(86_400 * 365)] { _ = try store.preview(moment).snapshot }
            if Int.random(in: 0..<10, using: &random) == 0, try store.activeSession(at: after().now) != nil {
                _ = try store.endSession(after(60))
            }
        }
    }

    @Test func `rejected rows are counted and reported`() async throws {
        let server = try await SyncServer.start()
        let session = try session(server)
        #expect(try await pass(server).problem == nil)
        let row =
            #"""
            ["logEntry", {"id": "x", "sessionId": "\#(session.id)", "timestamp": -9223372036854775808, "type": \#
            "water", "source": "phone", "updatedAt": 1781526000000, "deviceId": "phone"}]
            """#
        _ = try await server.control("/control/put", body: row)
        #expect(try await pass(server, at: 20).merged.rejected == 1)
        let report = try store.preview(after(30)).snapshot.syncReport
        #expect(
            report.rejected == 1 && report.rejections.first?.hasPrefix("logEntry x: timestamp") == true, "\(report)")
        _ = try await server.control("/control/put", body: row.replacing("-9223372036854775808", with: "1781526001000"))
        #expect(try await pass(server, at: 40).merged.applied == 1)
        #expect(try store.syncReport().report == SyncReport())
    }

    /// A captive portal answers every request with its own page.
    @Test(arguments: ["page", "redirect"]) func `a captive portal changes nothing`(kind: String) async throws {
        let server = try await SyncServer.start()
        _ = try session(server)
        _ = try store.addLog(.drink(), after(1))
        let waiting = try store.outbox().items.count
        _ = try await server.control("/control/portal", body: kind)
        let first = try await pass(server)
        #expect(first.sent == 0 && first.problem?.contains("login") == true && first.status == .offline, "\(first)")
        #expect(try store.outbox().items.count == waiting)
        let (status, report) = try store.syncReport()
        #expect(status == .offline && report.isPending && report.problem != nil)
        _ = try await server.control("/control/portal")
        #expect(try await pass(server, at: 400).sent == waiting)
        // With no pending changes only the query reaches the portal.
        _ = try await server.control("/control/portal", body: kind)
        #expect(try await pass(server, at: 410).problem?.contains("login") == true)
        #expect(try store.syncReport().report.isPending)
    }

    /// A server that answers is not called unreachable.
    @Test(arguments: [("cut", "failed"), ("slow", "did not answer in 1 s")])
    func `the reason for a missing response is reported`(mood: String, reason: String) async throws {
        let server = try await SyncServer.start()
        _ = try session(server)
        _ = try await server.control("/control/mood", body: mood)
        let client = try #require(try SyncClient(store.settings(), timeoutSeconds: 1))
        let now = Instant(seconds: Self.now)
        let problem = try await client.pass(store, now: { now }, zone: .utc).problem
        #expect(problem?.contains(reason) == true && problem?.contains("reached") == false, "\(problem ?? "")")
    }

    @Test func `every request contains the credential`() async throws {
        let server = try await SyncServer.start()
        _ = try await server.control("/control/token", body: "s3cret")
        _ = try session(server)
        let without = try await pass(server)
        #expect(
            without.sent == 0 && without.rejected == 0 && without.problem?.contains("sync.token") == true, "\(without)")
        try store.changeSettings([("sync.token", "wrong")], after(20))
        #expect(try await pass(server, at: 21).problem?.contains("rejects the token") == true)
        try store.changeSettings([("sync.token", "s3cret")], after(30))
        #expect(try await pass(server, at: 31).status == .idle)

        let folder = try TemporaryFolder()
        try Data("  s3cret  \n# for the sync server\n".utf8).write(to: folder.url("token"))
        try store.changeSettings([("sync.token", "unset"), ("sync.tokenFile", folder.file("token"))], after(40))
        _ = try store.addLog(.drink(), after(41))
        #expect(try await pass(server, at: 42).status == .idle)
        let seen = try JSONDecoder().decode([String?].self, from: try await server.control("/control/seen"))
        #expect(Set(seen) == [nil, "Bearer wrong", "Bearer s3cret"])
        try FileManager.default.removeItem(atPath: folder.file("token"))
        #expect(throws: SyncProblem.self) { try SyncClient(store.settings()) }
    }

    @Test func `the credential is never logged`() throws {
        let settings = try store.changeSettings([("sync.token", "s3cret")], after())
        #expect(settings.value(of: "sync.token") == .text("(set)") && settings.service.syncToken == "s3cret")
        #expect(try store.settings().service.syncToken == "s3cret")
        let refusal = #expect(throws: SettingRefusal.self) {
            try store.changeSettings([("sync.token", "s3cret with blanks")], after())
        }
        #expect(refusal.map { !"\($0)".contains("s3cret") } == true, "\(String(describing: refusal))")
    }

    @Test func `changed Waterline settings are sent with the user`() async throws {
        let server = try await SyncServer.start()
        _ = try session(server)
        _ = try await pass(server)
        try store.changeSettings([("waterline.warningThreshold", "4"), ("sync.token", "s3cret")], after(20))
        #expect(try store.outbox().items.map(\.operation) == [.createUser])
        _ = try await pass(server, at: 21)
        let last = try #require(try await server.log().last)
        #expect(
            last[0] == "createUser" && last[2].contains(#""warningThreshold": 4"#)
                && last[2].contains(#""discreetNotifications": true"#))
        #expect(!last.joined().contains("s3cret"))
        try store.changeSettings([("hydration.goalMl", "2000")], after(30))
        #expect(try store.outbox().items.isEmpty)
    }
}
