import Foundation
import Store
import Support
import Testing
import TrackerService

@testable import WebServer

/// Downloads and uploads of files. Serialized, because at most two uploads run at once.
@Suite(.serialized, .timeLimit(.minutes(2))) struct FileRouteTests {
    private let server: TestServer

    init() async throws { server = try await TestServer() }

    @Test(arguments: [
        ("json", "application/json", "json"), ("csv", "text/csv; charset=utf-8", "csv"),
        ("apple-health", "application/xml", "xml"),
    ])
    func `an export is imported once into another store`(format: String, type: String, ending: String) async throws {
        for ml in [250, 330] {
            #expect(
                try await server.post("drinks", "{\"ml\": \(ml), \"at\": \"2026-06-15T0\(ml == 250 ? 8 : 9):00\"}")
                    .status == 201)
        }
        let export = try await server.get("export?format=\(format)")
        #expect(export.status == 200 && export.headers["content-type"] == type)
        #expect(export.headers["content-disposition"] == "attachment; filename=\"drinks-2026-06-15.\(ending)\"")
        let other = try await TestServer()
        for added in [2, 0] {
            let taken = try await other.post(
                "import", export.body, headers: ["Content-Type": "application/octet-stream"])
            #expect(taken.status == 200 && taken.json["added"] as? Int == added, "\(taken.body)")
        }
        #expect(try await other.total() == 580)
    }

    @Test func `a repeated upload returns the first response, and its key is rejected for another file`() async throws {
        let headers = ["Idempotency-Key": "file-1", "Content-Type": "text/csv"]
        let file = "startDate,value_ml\n2026-06-15T09:00:00Z,150\n"
        #expect(try await server.post("import", file, headers: headers).json["added"] as? Int == 1)
        let again = try await server.post("import", file, headers: headers)
        #expect(again.headers["idempotent-replayed"] == "true" && again.json["added"] as? Int == 1)
        #expect(try await server.post("import", file + "2026-06-15T10:00:00Z,50\n", headers: headers).status == 409)
    }

    @Test(arguments: [
        ("import", "no file of ours", "text/plain"), ("import", "", "text/plain"),
        ("journal/import", "{\"version\": 1}\n", "application/jsonl"),
        ("journal/import", "nonsense", "application/jsonl"),
    ])
    func `an invalid file is rejected with a reason`(path: String, file: String, type: String) async throws {
        let reply = try await server.post("\(path)", file, headers: ["Content-Type": type])
        #expect(reply.status == 422 && reply.json["detail"] as? String != nil, "\(reply.status) \(reply.body)")
        #expect(try await server.total() == 0)
    }

    @Test func `a backup needs administrator access`() async throws {
        #expect(try await server.post("drinks", #"{"ml": 300}"#).status == 201)
        #expect(try await server.get("backup", headers: server.token(.control)).status == 403)
        #expect(try await server.post("import", "x", headers: server.token(.log)).status == 403)
        // A backup contains sessions: another host gets none while sessions are private.
        let backup = try await server.get("backup", headers: server.token(.admin))
        #expect(backup.status == 200 && backup.headers["content-type"] == "application/vnd.sqlite3", "\(backup.body)")
        #expect(backup.body.hasPrefix("SQLite format 3"))
        #expect(Int(backup.headers["content-length"] ?? "") ?? 0 > 4096)
    }

    @Test func `an empty journal is exported as JSON Lines`() async throws {
        let reply = try await server.get("journal/export")
        #expect(reply.status == 200 && reply.headers["content-type"] == "application/jsonl" && reply.body.isEmpty)
        #expect(try await server.get("export?format=pdf").code == "notAFormat")
    }
}

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

    @Test func `recordings of polls are listed newest first with text and capture`() async throws {
        let kept = try Kept([
            ("20281001T120000000", "Bottle not found.\nNobody advertises.\nbottle: none found\n", "btsnoop\u{0}first"),
            (
                "20260615T115900123",
                "Unexpected bottle response.\nbottle: A4:C1:38:01:02:03, retail\nname: WaterH <b>x</b>\n",
                "btsnoop\u{0}second"
            ), ("20260615T115901", nil, "btsnoop\u{0}third"),
        ])
        // A file of the user, and a directory.
        try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(kept.place)/my-own.btsnoop"))
        try Data("secret".utf8).write(to: kept.folder.url("secret"))
        try FileManager.default.createSymbolicLink(
            atPath: "\(kept.place)/20260615T110000000.btsnoop", withDestinationPath: kept.folder.file("secret"))
        try FileManager.default.createDirectory(
            atPath: "\(kept.place)/20260615T110000001.btsnoop", withIntermediateDirectories: false)
        let description = try APIDescription()
        let server = try await TestServer(kept.store)
        let reply = try await server.get("polls/kept")
        #expect(reply.status == 200)
        #expect(try description.faults(of: reply.body, to: "GET", "/polls/kept") == [], "\(reply.body)")
        let polls = try #require(reply.json["kept"] as? [[String: Any]])
        #expect(polls.map { $0["id"] as? String } == ["20260615T115901", "20260615T115900123", "20281001T120000000"])
        #expect(polls[1]["reason"] as? String == "Unexpected bottle response.")
        #expect(polls[1]["story"] as? [String] == ["bottle: A4:C1:38:01:02:03, retail", "name: WaterH <b>x</b>"])
        #expect(polls[1]["at"] as? Int == 1_781_524_740 && polls[0]["at"] as? Int == 1_781_524_741)
        #expect(polls[1]["bytes"] as? Int == 14 && polls[0]["reason"] as? String == "There is no trace of this poll.")
        let capture = try await server.get("polls/kept/20260615T115900123")
        #expect(capture.status == 200 && capture.body == "btsnoop\u{0}second", "\(capture.body)")
        #expect(
            capture.headers["content-type"] == "application/octet-stream"
                && capture.headers["cache-control"] == "no-store")
        #expect(capture.headers["content-disposition"] == "attachment; filename=\"poll-20260615T115900123.btsnoop\"")
        for other in [
            "20260615T110000000", "20260615T110000001", "my-own", "20260615T000000000", "..%2Fsecret",
            "..%2F..%2Fanna.sqlite", "%00", "20260615T115900123%0d%0aX: y", "٢T٢",
        ] {
            let reply = try await server.get("polls/kept/\(other)")
            #expect(
                [400, 404].contains(reply.status) && !reply.body.contains("secret") && !reply.body.contains("mine"),
                "\(other): \(reply.status) \(reply.body)")
        }
        #expect(try await server.get("polls/kept/20260615T000000000").code == "noSuchPoll")
        #expect(try await server.get("polls/kept?limit=3").status == 422)
    }

    @Test(arguments: ["/api/v1/polls/kept", "/api/v1/polls/kept/20260615T115900123"])
    func `recordings of polls require an administrator`(path: String) async throws {
        let kept = try Kept([("20260615T115900123", "Bottle not found.\n", "btsnoop")])
        let server = try await TestServer(kept.store)
        for scope in [Scope.read, .log, .control] {
            #expect(try await server.ask("GET", path, headers: server.token(scope)).status == 403, "\(scope)")
        }
        #expect(try await server.ask("GET", path, headers: server.token(.admin)).status == 200)
        // Every local program can read the day, but not this route.
        #expect(try await server.askUnsigned("GET", path).status == 401)
    }

    @Test func `the list of poll recordings has at most sixteen entries`() async throws {
        let empty = try await TestServer()
        #expect(try await empty.get("polls/kept").json["kept"] as? [String] == [])
        let many = try Kept((10..<40).map { ("20260615T1159\($0)000", "Bottle not found.\n", "x") })
        let server = try await TestServer(many.store)
        #expect(
            (try await server.get("polls/kept").json["kept"] as? [[String: Any]])?.map { $0["id"] as? String }
                == (24..<40).reversed().map { "20260615T1159\($0)000" })
    }
}

/// The automation of a phone: the drinks to add to its health records, and the ones that it found there.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PhoneRouteTests {
    private struct Phone {
        let server: TestServer
        let token: [String: String]

        func ask(_ method: String, _ path: String, _ body: String? = nil, type: String = "application/json")
            async throws -> RawHTTP.Reply
        { try await server.ask(method, "/api/v1/\(path)", body, headers: token.merging(["Content-Type": type]) { $1 }) }

        /// The pending drinks as `start ml`.
        func given(_ more: String = "") async throws -> (drinks: [String], keys: [String], hasMore: Bool?) {
            let json = try await ask("GET", "shortcuts/drinks\(more)").json
            let drinks = json["drinks"] as? [[String: Any]] ?? []
            return (
                drinks.map { "\($0["start"] ?? "") \($0["ml"] ?? "")" }, drinks.compactMap { $0["key"] as? String },
                json["hasMore"] as? Bool
            )
        }

        func done(_ keys: [String]) async throws -> RawHTTP.Reply {
            try await ask(
                "POST", "shortcuts/done",
                String(decoding: try JSONSerialization.data(withJSONObject: ["keys": keys]), as: UTF8.self))
        }

        func samples(_ lines: [String]) async throws -> RawHTTP.Reply {
            try await ask(
                "POST", "shortcuts/samples", (["startDate,value_ml,source"] + lines).joined(separator: "\n") + "\n",
                type: "text/csv")
        }

        func total() async throws -> Int? { try await ask("GET", "state").json["dailyTotalMl"] as? Int }
    }

    /// Each drink goes to the phone once. Our drinks are recognised when the phone returns them, also without seconds.
    /// Drinks of other apps are added, also if they look the same.
    @Test func `a phone and the service exchange each drink once`() async throws {
        let server = try await TestServer()
        let phone = Phone(server: server, token: try server.token(.log))
        for (ml, time) in [(250, "08:00:20"), (250, "08:00:40"), (330, "09:00:00")] {
            #expect(
                try await phone.ask("POST", "drinks", "{\"ml\": \(ml), \"at\": \"2026-06-15T\(time)\"}").status == 201)
        }
        let first = try await phone.given()
        #expect(
            first.drinks == [
                "2026-06-15T08:00:20+00:00 250", "2026-06-15T08:00:40+00:00 250", "2026-06-15T09:00:00+00:00 330",
            ] && first.hasMore == false)
        // The first two are written, then the phone stops.
        #expect(try await phone.done(Array(first.keys.prefix(2))).json["noted"] as? Int == 2)
        #expect(try await phone.given().drinks == ["2026-06-15T09:00:00+00:00 330"])
        #expect(try await phone.done(Array(first.keys)).json["noted"] as? Int == 1)
        #expect(try await phone.given().drinks.isEmpty)
        // Our drinks without seconds, another app's drink of the same minute and amount, and one of the day before.
        let found = [
            "2026-06-15T08:00:00Z,250,Shortcuts", "2026-06-15T08:00:00Z,250,Water",
            "2026-06-15T08:00:00Z,250,Kurzbefehle", "2026-06-15T09:00:00Z,330,Shortcuts",
            "2026-06-14T20:00:00Z,200,Water",
        ]
        for added in [2, 0, 0] {
            let taken = try await phone.samples(found)
            #expect(
                taken.status == 200 && taken.json["added"] as? Int == added && taken.json["known"] as? Int == 5 - added,
                "\(taken.body)")
        }
        #expect(try await phone.total() == 250 * 3 + 330)
        // Drinks from the phone are not sent back.
        #expect(try await phone.given().drinks.isEmpty)
        // A drink that is deleted here stays deleted, although the phone still has it.
        #expect(try await phone.ask("POST", "reset-today").status == 200)
        #expect(try await phone.samples(found).json["added"] as? Int == 0)
        #expect(try await phone.total() == 0)
    }

    @Test func `many drinks are returned in pages`() async throws {
        let server = try await TestServer()
        let phone = Phone(server: server, token: try server.token(.log))
        let lines = (0..<150).map {
            "2026-06-1\($0 % 3 + 2)T\(10 + $0 / 60):\($0 % 60 < 10 ? "0" : "")\($0 % 60):00Z,100,key-\($0)"
        }
        let file = (["startDate,value_ml,uuid"] + lines).joined(separator: "\n") + "\n"
        #expect(
            try await server.post("import", file, headers: ["Content-Type": "text/csv"]).json["added"] as? Int == 150)
        // They were imported from a file of ours, so they count as health records: only drinks that were logged
        // here go to the phone.
        #expect(try await phone.given().drinks.isEmpty)
        for number in 0..<120 {
            _ = try await server.post("drinks", "{\"ml\": \(number + 1), \"at\": \"2026-06-15T10:00:00\"}")
        }
        let first = try await phone.given()
        #expect(first.drinks.count == 100 && first.hasMore == true)
        #expect(try await phone.done(first.keys).status == 200)
        #expect(try await phone.given().drinks.count == 20)
        #expect(try await phone.given("?days=1").drinks.count == 20)
    }

    @Test func `phone routes need access and valid input`() async throws {
        let server = try await TestServer()
        let phone = Phone(server: server, token: try server.token(.read))
        #expect(try await phone.ask("GET", "shortcuts/drinks").status == 200)
        #expect(try await phone.done(["a"]).status == 403)
        #expect(try await phone.samples([]).status == 403)
        let writer = Phone(server: server, token: try server.token(.log))
        #expect(try await writer.done(["nobody's"]).json["noted"] as? Int == 0)
        for (body, code) in [
            ("{}", "keys"), (#"{"keys": []}"#, "keys"), (#"{"keys": [""]}"#, "keys"), (#"{"keys": "a"}"#, "wrongType"),
            (#"{"keys": ["a"], "b": 1}"#, "unknownField"),
        ] {
            let reply = try await writer.ask("POST", "shortcuts/done", body)
            #expect(reply.status == 422 && reply.code == code, "\(reply.body)")
        }
        for query in ["days=0", "days=x", "days=99999", "since=1", "days=1&days=2"] {
            #expect(try await writer.ask("GET", "shortcuts/drinks?\(query)").status == 422, "\(query)")
        }
        let cut = try await writer.ask(
            "POST", "shortcuts/samples", "startDate,value_ml\n2026-06-15T08:00:00Z,25", type: "text/csv")
        #expect(cut.status == 200)
        #expect(
            try await writer.ask("POST", "shortcuts/samples", "startDate,value_ml\nyesterday,25\n", type: "text/csv")
                .status == 422)
    }
}
