import Foundation
import Store
import Support
import Testing
import TrackerService

@Suite(.timeLimit(.minutes(2))) struct KeptPollTests {
    /// A store with recorded polls in the service recorder's format.
    private struct Kept {
        let folder: TemporaryFolder
        let store: TrackerStore
        let place: String

        init(_ polls: [(id: String, story: String?, capture: String)]) throws {
            folder = try TemporaryFolder()
            store = try TrackerStore(path: folder.file("anna.sqlite"), hostZone: "Etc/UTC")
            place = folder.file("anna.sqlite-polls")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            for (number, poll) in polls.enumerated() {
                try poll.story?.write(toFile: "\(place)/\(poll.id).txt", atomically: false, encoding: .utf8)
                try Data(poll.capture.utf8).write(to: URL(fileURLWithPath: "\(place)/\(poll.id).btsnoop"))
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1_781_500_000 + Double(number))],
                    ofItemAtPath: "\(place)/\(poll.id).btsnoop")
            }
        }
    }

    @Test func `kept polls are listed newest first with story and capture`() async throws {
        let kept = try Kept([
            (
                "20281001T120000000", "Bottle not found.\nNobody advertises.\nbottle: none found\n",
                "btsnoop\u{0}first"
            ),
            (
                "20260615T115900123",
                "Unexpected bottle response.\nbottle: A4:C1:38:01:02:03, retail\nname: WaterH <b>x</b>\n",
                "btsnoop\u{0}second"
            ),
            ("20260615T115901", nil, "btsnoop\u{0}third"),
        ])
        // A file of the user, and a directory.
        try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(kept.place)/my-own.btsnoop"))
        try Data("secret".utf8).write(to: kept.folder.url("secret"))
        try FileManager.default.createSymbolicLink(
            atPath: "\(kept.place)/20260615T110000000.btsnoop", withDestinationPath: kept.folder.file("secret"))
        try FileManager.default.createDirectory(
            atPath: "\(kept.place)/20260615T110000001.btsnoop", withIntermediateDirectories: false)
        let description = try APIDescription()
        try await ServedHousehold.serve(kept.store) { house async throws in
            let reply = try await house.ask("GET", "/api/v1/polls/kept", headers: house.page)
            #expect(reply.status == 200)
            #expect(try description.faults(of: reply.body, to: "GET", "/polls/kept") == [], "\(reply.body)")
            let polls = try #require(reply.json["kept"] as? [[String: Any]])
            #expect(
                polls.map { $0["id"] as? String } == ["20260615T115901", "20260615T115900123", "20281001T120000000"])
            #expect(polls[1]["reason"] as? String == "Unexpected bottle response.")
            #expect(polls[1]["story"] as? [String] == ["bottle: A4:C1:38:01:02:03, retail", "name: WaterH <b>x</b>"])
            #expect(polls[1]["at"] as? Int == 1_781_524_740 && polls[0]["at"] as? Int == 1_781_524_741)
            #expect(
                polls[1]["bytes"] as? Int == 14 && polls[0]["reason"] as? String == "There is no trace of this poll.")
            let capture = try await house.ask("GET", "/api/v1/polls/kept/20260615T115900123", headers: house.page)
            #expect(capture.status == 200 && capture.body == "btsnoop\u{0}second", "\(capture.body)")
            #expect(
                capture.headers["content-type"] == "application/octet-stream"
                    && capture.headers["cache-control"] == "no-store")
            #expect(
                capture.headers["content-disposition"] == "attachment; filename=\"poll-20260615T115900123.btsnoop\"")
            for other in [
                "20260615T110000000", "20260615T110000001", "my-own", "20260615T000000000", "..%2Fsecret",
                "..%2F..%2Fanna.sqlite", "%00", "20260615T115900123%0d%0aX: y", "٢T٢",
            ] {
                let reply = try await house.ask("GET", "/api/v1/polls/kept/\(other)", headers: house.page)
                #expect(
                    [400, 404].contains(reply.status) && !reply.body.contains("secret") && !reply.body.contains("mine"),
                    "\(other): \(reply.status) \(reply.body)")
            }
            #expect(
                try await house.ask("GET", "/api/v1/polls/kept/20260615T000000000", headers: house.page).code
                    == "noSuchPoll")
            #expect(try await house.ask("GET", "/api/v1/polls/kept?limit=3", headers: house.page).status == 422)
        }
    }

    @Test(
        arguments: ["/api/v1/polls/kept", "/api/v1/polls/kept/20260615T115900123"])
    func `kept polls require an administrator`(path: String) async throws {
        let kept = try Kept([("20260615T115900123", "Bottle not found.\n", "btsnoop")])
        try await ServedHousehold.serve(kept.store) { house async throws in
            for scope in [Scope.read, .log, .control] {
                #expect(try await house.ask("GET", path, headers: house.token(scope)).status == 403, "\(scope)")
            }
            #expect(try await house.ask("GET", path, headers: house.token(.admin)).status == 200)
            // Every local program can read the day, but not this route.
            #expect(try await house.askUnsigned("GET", path).status == 401)
        }
    }

    @Test func `at most sixteen kept polls are listed`() async throws {
        try await ServedHousehold.serve { house async throws in
            #expect(
                try await house.ask("GET", "/api/v1/polls/kept", headers: house.page).json["kept"] as? [String] == [])
        }
        let many = try Kept((10..<40).map { ("20260615T1159\($0)000", "Bottle not found.\n", "x") })
        try await ServedHousehold.serve(many.store) { house async throws in
            #expect(
                (try await house.ask("GET", "/api/v1/polls/kept", headers: house.page)
                    .json["kept"] as? [[String: Any]])?
                    .map { $0["id"] as? String } == (24..<40).reversed().map { "20260615T1159\($0)000" })
        }
    }
}
