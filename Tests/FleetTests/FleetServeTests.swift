import Foundation
import Glibc
import Outgoing
import Packing
import Support
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// The built `waterh-fleet` as an operator runs it.
@Suite(
    "The fleet's server",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetServeTests {
    struct Fleet {
        let environment: [String: String]
        let words: String

        /// - Parameter database: its words; `nil`: one of its own.
        init(_ database: String? = nil) async throws {
            if let database { words = database } else { words = try await PostgreSQL.database(migrated: false) }
            environment = ["WATERH_FLEET_DATABASE": words]
            #expect(try await run("migrate") == "The tables are of version \(FleetStore.version) now.\n")
        }

        /// - Parameter words: of a database with its tables.
        init(whole words: String) { (self.words, environment) = (words, ["WATERH_FLEET_DATABASE": words]) }

        @discardableResult
        func run(_ arguments: String..., code: Int32 = 0) async throws -> String {
            let result = try await Program("waterh-fleet").run(arguments, environment: environment)
            #expect(result.exitCode == code, "\(arguments): \(result.error)")
            return code == 0 ? result.output : result.error
        }

        func credential(_ arguments: String...) async throws -> String {
            let result = try await Program("waterh-fleet").run(["enrol"] + arguments, environment: environment)
            #expect(result.exitCode == 0, "\(result.error)")
            return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        func serve(_ arguments: String...) async throws -> (program: RunningProgram, url: String) {
            let program = try Program("waterh-fleet").start(
                ["serve", "--listen", "127.0.0.1:0"] + arguments, environment: environment)
            let line = try await program.line { $0.hasPrefix("Serving at ") }
            return (program, String(line.dropFirst(11).dropLast()))
        }
    }

    static func post(
        _ url: String, _ credential: String?, _ body: [UInt8], type: String = "application/x-ndjson",
        _ more: [(String, String)] = [], path: String = "/v1/entries"
    ) async throws -> OutgoingAnswer {
        try await OutgoingClient(limit: .seconds(40)).send(
            OutgoingRequest(
                "POST", url + path,
                headers: [("Content-Type", type)] + (credential.map { [("Authorization", "Bearer \($0)")] } ?? [])
                    + more, body: body))
    }

    /// Of problem details, which keep the names that they had before there was a code.
    static func code(_ answer: OutgoingAnswer) -> String? {
        let problem = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        #expect(
            problem.map { Set($0.keys) } == ["type", "title", "status", "detail", "code"]
                && problem?["status"] as? Int == answer.status)
        return problem?["code"] as? String
    }

    static func get(_ url: String, _ credential: String?) async throws -> (status: Int, text: String) {
        let answer = try await OutgoingClient().send(
            OutgoingRequest("GET", url, headers: credential.map { [("Authorization", "Bearer \($0)")] } ?? []))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    @Test func gatewaysTellOverTwoServersAndOneIsKilled() async throws {
        let fleet = try await Fleet()
        let gateway = try await fleet.credential("ward-1", "--anybody"),
            reader = try await fleet.credential("desk", "--reader")
        #expect(try await fleet.run("enrol", "ward-1", code: 3).contains("was enrolled before"))
        let one = try await fleet.serve(), two = try await fleet.serve()
        // The day of now: the evening goes on until four.
        let today = Int((Date().timeIntervalSince1970 - 4 * 3600) / 86_400)
        func batch(_ places: ClosedRange<Int64>) throws -> [UInt8] {
            try FleetLines.bytes(
                places.map { place in
                    var entry = FleetEntryTests.entry(
                        place, person: "<b>Ann & co", key: "A4:C1:38:01:02:03|2026-02-02T22:21:\(place + 9)|100",
                        ml: 100, day: today)
                    entry.drink?.zone = "UTC"
                    return entry
                })
        }
        #expect(try await Self.post(one.url, gateway, batch(1...10)).status == 200)
        one.program.send(signal: SIGKILL)
        _ = try await one.program.finish()
        await #expect(throws: OutgoingFailure.self) { try await Self.post(one.url, gateway, batch(11...20)) }
        // Nobody knows what became of it: it is sent again, with what went before.
        let answer = try await Self.post(two.url, gateway, batch(1...20) + Array("no entry\n".utf8))
        #expect(
            answer.status == 200
                && String(decoding: answer.body, as: UTF8.self) == #"{"taken":10,"known":10,"parked":1}"#)
        let overview = try await Self.get(two.url + "/v1/overview", reader)
        #expect(
            overview.status == 200 && overview.text.contains(#""drinks":20"#)
                && overview.text.contains(#""todayMl":2000"#), "\(overview)")
        let page = try await Self.get(two.url + "/", reader)
        #expect(
            page.text.contains("&lt;b&gt;Ann &amp; co") && !page.text.contains("<b>Ann")
                && page.text.contains("A4:C1:38:01:02:03"))
        #expect(page.text.contains("<th>Last drink</th>") && page.text.contains(#"<td class="n">20</td><td>"#))
        let csv = try await Self.get(two.url + "/v1/people/%3Cb%3EAnn%20%26%20co/days", reader)
        #expect(csv.text == "day,ml,drinks\n\(LocalDay(daysSince1970: today)),2000,20\n")
        for path in ["/v1/people/nobody/days", "/v1/nowhere"] {
            let nothing = try await Self.get(two.url + path, reader)
            #expect(nothing.status == 404 && nothing.text.contains(#""code":"notFound""#), "\(nothing.text)")
        }
        #expect(
            try await Self.get(two.url + "/metrics", reader).text.contains(
                "waterh_fleet_entries_total{became=\"taken\"} 10\n"))
        #expect(try await Self.get(two.url + "/healthz", nil).status == 200)
        for (credential, status) in [(gateway, 403), ("wf_wrong", 401), (nil, 401)] {
            #expect(try await Self.get(two.url + "/v1/overview", credential).status == status)
        }
        #expect(try await fleet.run("report").contains("<b>Ann & co: 2000 ml in 20 drinks"))
        #expect(try await fleet.run("report", "--json").contains(#""todayMl":2000"#))
        #expect(try await fleet.run("parked").hasSuffix("Z ward-1: it is no JSON: no entry\n"))
        #expect(try await fleet.run("parked", "--json", "--gateway", "ward-1").contains(#""line":"no entry""#))
        #expect(try await fleet.run("parked", "--again") == "0 taken, 0 known already, 1 still set aside.\n")
        two.program.send(signal: SIGTERM)
        #expect(try await two.program.finish().exitCode == 0)
    }

    @Test func whatCannotBeTakenIsRefusedInWords() async throws {
        let fleet = try await Fleet()
        let gateway = try await fleet.credential("ward-1", "--anybody"),
            reader = try await fleet.credential("desk", "--reader")
        let server = try await fleet.serve("--batches", "1")
        let good = try FleetLines.bytes([FleetEntryTests.entry()])
        let newer = Array(String(decoding: good, as: UTF8.self).replacing(#""version":1"#, with: #""version":2"#).utf8)
        let cases: [(String?, [UInt8], String, Int, String, String)] = [
            (nil, good, "application/x-ndjson", 401, "notLetIn", "Show a credential"),
            ("wf_x", good, "application/x-ndjson", 401, "unknownCredential", "Nobody here knows"),
            (reader, good, "application/x-ndjson", 403, "otherRole", "only looks"),
            (gateway, good, "text/plain", 415, "notLines", "x-ndjson"),
            (gateway, good + newer, "application/x-ndjson", 400, "newerVersion", "of version 2"),
            (
                gateway, Array(repeating: 10, count: FleetLines.byteLimit + 1), "application/x-ndjson", 413, "tooLarge",
                "8 MiB"
            ),
            (
                gateway, Array(repeating: Array("{}\n".utf8), count: 10_001).flatMap(\.self), "application/x-ndjson",
                413, "tooManyEntries", "10000"
            ),
        ]
        for (credential, body, type, status, code, words) in cases {
            let answer = try await Self.post(server.url, credential, body, type: type)
            #expect(
                answer.status == status && Self.code(answer) == code
                    && String(decoding: answer.body, as: UTF8.self).contains(words),
                "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        let store = FleetStore(try FleetConnection(fleet.words))
        #expect(try store.days(of: "anna") == nil, "nothing of a batch that was refused is stored")

        // One batch waits for a lock; the other is told to come again, and comes again.
        let other = try FleetConnection(fleet.words)
        try other.script("BEGIN; SELECT 1 FROM gateway WHERE name = 'ward-1' FOR UPDATE")
        async let first = Self.post(server.url, gateway, good)
        let isWaiting = try await event {
            try store.connection.run("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'").isEmpty
                ? nil : true
        }
        #expect(isWaiting == true)
        let busy = try await Self.post(server.url, gateway, good)
        #expect(busy.status == 429 && Self.code(busy) == "busy" && busy.header("Retry-After") == "1")
        try other.script("COMMIT")
        #expect(try await first.status == 200)

        // The server goes on over another connection when PostgreSQL ended the one it held.
        try other.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> \
            pg_backend_pid()
            """
        )
        #expect(try await Self.post(server.url, gateway, good).status == 200)
        try other.script(
            """
            ALTER DATABASE \(try #require(other.run("SELECT current_database()").first?.first ?? nil)) SET \
            default_transaction_read_only = on
            """
        )
        try other.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> \
            pg_backend_pid()
            """
        )
        let stands = try await Self.post(server.url, gateway, good)
        #expect(
            stands.status == 503 && Self.code(stands) == "databaseReadOnly" && stands.header("Retry-After") == "5"
                && String(decoding: stands.body, as: UTF8.self).contains("may only be read"))
        try other.script(
            "SET default_transaction_read_only = off; UPDATE gateway SET revoked = now() WHERE name = 'ward-1'")
        let revoked = try await Self.post(server.url, gateway, good)
        #expect(
            revoked.status == 403 && Self.code(revoked) == "credentialRevoked"
                && String(decoding: revoked.body, as: UTF8.self).contains("taken back"))
        server.program.send(signal: SIGTERM)
        #expect(try await server.program.finish().exitCode == 0)
    }

    /// One gateway that began as many batches as there are places, and sent no more, kept everybody out for half a
    /// minute.
    @Test func aGatewayThatSendsHalfBatchesLeavesRoomForTheOthers() async throws {
        let fleet = try await Fleet()
        let slow = try await fleet.credential("ward-1"), other = try await fleet.credential("ward-2")
        let server = try await fleet.serve("--batches", "4")
        let port = try #require(UInt16(server.url.split(separator: ":").last ?? ""))
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        for _ in 0..<8 {
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            sockets.append(socket)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            (address.sin_addr.s_addr, address.sin_port) = (UInt32(0x7F00_0001).bigEndian, port.bigEndian)
            let isThere = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            #expect(isThere)
            let half =
                """
                POST /v1/entries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(slow)\r\nContent-Type: \
                application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{\"version\"
                """
            #expect(send(socket, half, half.utf8.count, 0) == half.utf8.count)
        }
        // Its share is in use as soon as it is told to come again.
        let isFull = try await event {
            try await Self.post(server.url, slow, FleetLines.bytes([FleetEntryTests.entry(person: nil)])).status == 429
                ? true : nil
        }
        #expect(isFull == true)
        #expect(
            try await Self.post(server.url, other, FleetLines.bytes([FleetEntryTests.entry(person: nil)])).status == 200
        )
        server.program.send(signal: SIGTERM)
    }

    /// An enrolled gateway could tell drinks of any person.
    @Test func aGatewayTellsOnlyOfWhomItMay() async throws {
        let fleet = try await Fleet()
        let gateway = try await fleet.credential("ward-1", "--person", "anna")
        let server = try await fleet.serve()
        func told(_ person: String?, _ place: Int64) throws -> [UInt8] {
            try FleetLines.bytes([FleetEntryTests.entry(place, person: person, key: "k\(place)")])
        }
        for (person, place) in [("anna", 1), (nil, 2), ("ward-1", 3)] as [(String?, Int64)] {
            #expect(try await Self.post(server.url, gateway, told(person, place)).status == 200)
        }
        let refused = try await Self.post(server.url, gateway, told("anna", 4) + told("bob", 5))
        #expect(
            refused.status == 403 && Self.code(refused) == "otherPerson"
                && String(decoding: refused.body, as: UTF8.self).contains("ward-1 may not tell of bob here"))
        let store = FleetStore(try FleetConnection(fleet.words))
        #expect(
            try store.days(of: "bob") == nil && store.days(of: "anna")?.map(\.drinks) == [1],
            "nothing of that batch is there")
        #expect(try await fleet.run("report").contains(", may not tell of bob\n"))
        #expect(try await fleet.run("allow", "ward-1", "anna", "bob") == "ward-1 may tell of: ward-1, anna, bob.\n")
        #expect(try await Self.post(server.url, gateway, told("anna", 4) + told("bob", 5)).status == 200)
        #expect(try await !fleet.run("report").contains("may not"))
        #expect(try await fleet.run("allow", "nobody", code: 3).contains("No gateway was enrolled as nobody"))
        _ = try await fleet.run("allow", "ward-1", "--anybody")
        #expect(try await Self.post(server.url, gateway, told("{\"c\\,", 6)).status == 200)
        _ = try await fleet.run("enrol", "ward-1", "--revoke")
        // Who did what; what was refused changed nothing, and is not there.
        let audit = try await fleet.run("audit").split(separator: "\n").map { $0.drop { $0 != " " }.dropFirst() }
        #expect(
            audit == [
                "fleet: ward-1 was enrolled, to tell of the one who is called so, anna",
                "fleet: ward-1 may tell of the one who is called so, anna, bob", "fleet: ward-1 may tell of anybody",
                "fleet: ward-1 is let in no more",
            ])
        server.program.send(signal: SIGTERM)
    }

    @Test func whatAnOperatorDoesWrongIsToldInWords() async throws {
        let words = try await PostgreSQL.database(migrated: false)
        for (arguments, code, said) in [
            (["report", "--database", words], Int32(1), "Run waterh-fleet migrate"),
            (["serve", "--database", "host=/nowhere"], 1, "cannot be reached"),
            (["report", "--database", "a = b = c"], 2, "name no database"),
            (["enrol", "1x", "--database", words], 2, "begins with a letter"),
            (["serve", "--listen", "here", "--database", words], 2, "no place to listen at"),
        ] {
            let result = try await Program("waterh-fleet").run(arguments)
            #expect(
                result.exitCode == code && result.error.contains(said),
                "\(arguments): \(result.exitCode) \(result.error)")
        }
    }

    @Test func packedBatchesAreUnpackedWithinTheLimits() async throws {
        let fleet = try await Fleet()
        let gateway = try await fleet.credential("ward-1", "--anybody")
        let server = try await fleet.serve()
        let lines = try FleetLines.bytes((1...500).map { FleetEntryTests.entry(Int64($0), key: "k\($0)") })
        let packed = try Gzip.pack(lines)
        #expect(packed.count < lines.count / 5)
        let cases: [([UInt8], String, Int, String?)] = [
            (packed, "gzip", 200, nil), (packed, "GZIP", 200, nil), (lines, "identity", 200, nil),
            (packed, "br", 415, "packed"), (Array(packed.dropLast(9)), "gzip", 400, "brokenGzip"),
            (lines, "gzip", 400, "brokenGzip"),
            // 100 MB and a gigabyte, as nothing much.
            (try Gzip.pack([UInt8](repeating: 32, count: 100 << 20)), "gzip", 413, "tooLarge"),
        ]
        for (body, packing, status, code) in cases {
            let answer = try await Self.post(server.url, gateway, body, [("Content-Encoding", packing)])
            #expect(
                answer.status == status && (code == nil || Self.code(answer) == code),
                "\(packing): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        let store = FleetStore(try FleetConnection(fleet.words))
        #expect(try store.days(of: "anna")?.map(\.drinks) == [500])
        // On the way something took the field away: the pack was set aside as a line, and the gateway forgot what was
        // in it.
        for (body, more) in [(packed, []), (try Gzip.pack(packed), [("Content-Encoding", "gzip")])]
            as [([UInt8], [(String, String)])]
        {
            let answer = try await Self.post(server.url, gateway, body, more)
            #expect(
                answer.status == 415 && Self.code(answer) == "packed"
                    && String(decoding: answer.body, as: UTF8.self).contains("does not say so"))
        }
        #expect(try store.parkedLines(limit: 9).isEmpty)
        server.program.send(signal: SIGTERM)
        #expect(try await server.program.finish().exitCode == 0)
    }

    /// Who asked only for the head of the events took a place for good: after 500 of those nobody could watch any more.
    @Test func whoAsksForTheHeadOfTheEventsTakesNoPlace() async throws {
        let fleet = try await Fleet()
        let reader = try await fleet.credential("desk", "--reader")
        let server = try await fleet.serve()
        let heads = try await Program(path: "/usr/bin/curl").run([
            "-sI", "-o", "/dev/null", "-w", "%{http_code}\n", "-H", "Authorization: Bearer \(reader)",
            server.url + "/v1/events?[1-600]",
        ])
        #expect(heads.output.split(separator: "\n").filter { $0 == "200" }.count == 600)
        let watcher = try Program(path: "/usr/bin/curl").start([
            "-sN", "-H", "Authorization: Bearer \(reader)", server.url + "/v1/events",
        ])
        #expect(try await watcher.line { $0 == "retry: 2000" } == "retry: 2000")
        for program in [watcher, server.program] { program.send(signal: SIGTERM) }
        #expect(try await server.program.finish().exitCode == 0)
    }

    /// Who was called with a mark of byte order before the name was taken for who is called so without it: that one was
    /// forgotten.
    @Test func whoIsForgottenOverHTTPIsWhoWasNamed() async throws {
        let fleet = try await Fleet()
        let gateway = try await fleet.credential("ward-1", "--anybody"),
            admin = try await fleet.credential("chief", "--admin")
        let server = try await fleet.serve()
        let store = FleetStore(try FleetConnection(fleet.words))
        // U+0600 joins with the sign behind it, which nothing escaped then.
        let names = ["anna", "\u{feff}anna", "\u{600}<form action=x>", "x\"\u{301},y"]
        for (place, name) in names.enumerated() {
            #expect(
                try await Self.post(
                    server.url, gateway,
                    FleetLines.bytes([FleetEntryTests.entry(Int64(place + 1), person: name, key: "k\(place)")])
                ).status == 200)
        }
        let page = try await Self.get(server.url + "/", admin).text,
            table = try await Self.get(server.url + "/v1/overview.csv", admin).text
        #expect(
            !page.unicodeScalars.split(separator: "<").contains { String($0).hasPrefix("form") }
                && page.contains("&lt;form action=x&gt;"))
        #expect(table.split(separator: "\n").contains { $0.utf8.starts(with: "\"x\"\"\u{301},y\",".utf8) }, "\(table)")
        let answer = try await OutgoingClient().send(
            OutgoingRequest(
                "DELETE", server.url + "/v1/people/%EF%BB%BFanna", headers: [("Authorization", "Bearer \(admin)")]))
        #expect(answer.status == 200)
        #expect(
            try store.connection.run("SELECT count(*) FROM person") == [["3"]] && store.days(of: "anna") != nil
                && !store.isForgotten("anna") && store.isForgotten("\u{feff}anna"))
    }

    /// Names were decoded twice: doubts of `50%` became those of the one who is called like the gateway, and those of
    /// `a%41` became `aA`'s. What was no hour, no standing and no doubt was passed over without a word, and settled
    /// what it should have named.
    @Test func whatCannotBeReadOfDoubtsIsRefusedAndNamesAreDecodedOnce() async throws {
        let fleet = try await Fleet()
        let gateway = try await fleet.credential("ward-1", "--anybody")
        let server = try await fleet.serve()
        let store = FleetStore(try FleetConnection(fleet.words))
        let doubt = FleetDoubt(
            bottle: "A4:C1:38:01:02:03", raw: "1A020216151500100000016100", wall: nil, ml: 16, reason: "hostClock",
            received: Instant(milliseconds: 5))
        let body = try FleetLines.bytes([doubt])
        for (name, told) in [
            ("50%", "50%25"), ("a%41", "a%2541"), ("100%25", "100%2525"), ("\u{feff}bom", "%EF%BB%BFbom"),
            ("a+b", "a%2Bb"),
        ] {
            #expect(
                try await Self.post(server.url, gateway, body, path: "/v1/doubts?store=s&person=\(told)").status == 200)
            #expect(try store.doubts(of: name) == [doubt], "\(name)")
        }
        #expect(try store.connection.run("SELECT count(*) FROM doubt") == [["5"]])
        let entry = try FleetLines.bytes([FleetEntryTests.entry()])
        for (path, body, type, more, status, code) in [
            (
                "/v1/doubts?store=s&person=a%2Bb", body + Array("{\"version\":1,\"verd\nrubbish\n".utf8),
                "application/x-ndjson", [], 400, "noDoubt"
            ), ("/v1/doubts?store=s&person=a%2Bb&boundary=7", [], "application/x-ndjson", [], 400, "noHour"),
            ("/v1/doubts?store=s&person=a%2Bb&boundary=x", [], "application/x-ndjson", [], 400, "noHour"),
            ("/v1/doubts?store=s&person=a%2Bb", [], "text/plain", [], 415, "notLines"),
            (
                "/v1/doubts?store=s&person=a%2Bb", [], "application/x-ndjson", [("Waterh-Doubts", "a b")], 400,
                "noStanding"
            ), ("/v1/entries", entry, "application/x-ndjson", [("Waterh-Told", "s1 0 -1")], 400, "noStanding"),
            ("/v1/entries", entry, "application/x-ndjson", [("Waterh-Told", "s1 0")], 400, "noStanding"),
        ] as [(String, [UInt8], String, [(String, String)], Int, String)] {
            let answer = try await Self.post(server.url, gateway, body, type: type, more, path: path)
            #expect(
                answer.status == status && Self.code(answer) == code,
                "\(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        #expect(try store.connection.run("SELECT count(*) FROM doubt") == [["5"]] && store.days(of: "anna") == nil)
        // A fleet that does not know what the store told last asks for it.
        let asked = try await Self.post(
            server.url, gateway, entry, [("Waterh-Told", "s1 0 0"), ("Waterh-Doubts", "m1")])
        #expect(
            String(decoding: asked.body, as: UTF8.self) == #"{"taken":1,"known":0,"parked":0,"asksFor":["doubts"]}"#
                && FleetAnswer.asksForDoubts(asked.body))
        #expect(
            try await Self.post(
                server.url, gateway, [], [("Waterh-Doubts", "m1")], path: "/v1/doubts?store=s1&person=anna&boundary=6"
            ).status == 200)
        let known = try await Self.post(
            server.url, gateway, entry, [("Waterh-Told", "s1 0 1"), ("Waterh-Doubts", "m1")])
        #expect(known.status == 200 && !FleetAnswer.asksForDoubts(known.body))
        // Cut in the middle of its pieces: it was nobody's fault here.
        let half =
            """
            POST /v1/entries HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(gateway)\r\nContent-Type: \
            application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ver\r\n
            """
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        (address.sin_addr.s_addr, address.sin_port) = (
            UInt32(0x7F00_0001).bigEndian, try #require(UInt16(server.url.split(separator: ":").last ?? "")).bigEndian
        )
        let isThere = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        #expect(
            isThere && send(socket, half, half.utf8.count, 0) == half.utf8.count
                && shutdown(socket, Int32(SHUT_WR)) == 0)
        var patience = timeval(tv_sec: 20, tv_usec: 0), said: [UInt8] = [], bytes = [UInt8](repeating: 0, count: 4096)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        while !String(decoding: said, as: UTF8.self).contains("\"code\"") {
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            said += bytes[..<count]
        }
        #expect(
            String(decoding: said, as: UTF8.self).hasPrefix("HTTP/1.1 400 ")
                && String(decoding: said, as: UTF8.self).contains("cutBody"), "\(String(decoding: said, as: UTF8.self))"
        )
        // Whoever enrols for somebody forgotten is told so, beside the credential.
        _ = try await fleet.run("forget", "anna")
        let result = try await Program("waterh-fleet").run(
            ["enrol", "ward-2", "--person", "anna"], environment: fleet.environment)
        #expect(
            result.exitCode == 0 && result.output.hasPrefix("wf_") && result.output.split(separator: "\n").count == 1
                && result.error.hasPrefix("anna: forgotten before, and known again from now on."), "\(result)")
        server.program.send(signal: SIGTERM)
        #expect(try await server.program.finish().exitCode == 0)
    }

    /// Three who looked at once were one too many, and so was a load balancer that asked whether the server lives; and
    /// as soon as a newer program had migrated, all older servers said that they were of no use, while they went on
    /// taking batches.
    @Test func manyWhoLookAtOnceAreAnsweredAndAnUpgradeTakesNobodyAway() async throws {
        let fleet = try await Fleet()
        let reader = try await fleet.credential("desk", "--reader"),
            gateway = try await fleet.credential("ward-1", "--anybody")
        let server = try await fleet.serve()
        // All of them wait for the days.
        let other = try FleetConnection(fleet.words)
        try other.script(
            """
            BEGIN; SELECT pg_advisory_xact_lock(\(FleetStore.rollLock)); INSERT INTO stale VALUES ('anna', \
            '2026-02-01')
            """
        )
        try FleetConnection(fleet.words).run("INSERT INTO stale VALUES ('anna', '2026-02-02')")
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<12 {
                group.addTask {
                    try await Self.get(server.url + (number % 4 == 0 ? "/healthz" : "/v1/overview"), reader).status
                }
            }
            let waiting = try await event {
                try FleetConnection(fleet.words).run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory'")
                    .count > 1 ? true : nil
            }
            #expect(waiting == true)
            try other.script("COMMIT")
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 12))
        try other.run("INSERT INTO fleet_schema (version) VALUES (99)")
        #expect(try await Self.get(server.url + "/healthz", nil).status == 200)
        #expect(try await Self.post(server.url, gateway, FleetLines.bytes([FleetEntryTests.entry()])).status == 200)
        server.program.send(signal: SIGTERM)
        #expect(try await server.program.finish().exitCode == 0)
    }

    @Test func whoLooksSeesWhatIsTheirBusinessAndHearsOfItAtOnce() async throws {
        let fleet = try await Fleet()
        let gateway = try await fleet.credential("ward-1", "--anybody"),
            admin = try await fleet.credential("chief", "--admin")
        let nurse = try await fleet.credential("nurse", "--carer", "--person", "anna"),
            reader = try await fleet.credential("desk", "--reader")
        #expect(try await fleet.run("enrol", "x", "--carer", code: 2).contains("Say for whom it cares"))
        #expect(try await fleet.run("allow", "nurse", "anna") == "nurse cares for anna.\n")
        let one = try await fleet.serve(), two = try await fleet.serve()
        // Over the other server than the one that stores it.
        let watcher = try Program(path: "/usr/bin/curl").start([
            "-sN", "-H", "Authorization: Bearer \(nurse)", two.url + "/v1/events",
        ])
        _ = try await watcher.line { $0 == "retry: 2000" }
        #expect(
            try await Self.post(
                one.url, gateway, FleetLines.bytes([FleetEntryTests.entry(1, person: "bob", key: "=b", ml: 9)])
            ).status == 200)
        let before = ContinuousClock.now
        #expect(
            try await Self.post(one.url, gateway, FleetLines.bytes([FleetEntryTests.entry(2, key: "a", ml: 70)])).status
                == 200)
        _ = try await watcher.line { $0 == #"data: {"people":["anna"]}"# }
        #expect(ContinuousClock.now - before < .seconds(20))
        let doubt = FleetDoubt(
            bottle: "A4:C1:38:01:02:03", raw: "1A020216151500100000016100", wall: nil, ml: 16, reason: "hostClock",
            received: Instant(milliseconds: 5))
        #expect(
            try await Self.post(one.url, gateway, FleetLines.bytes([doubt]), path: "/v1/doubts?store=s1&person=anna")
                .status == 200)
        #expect(try await Self.post(one.url, gateway, FleetLines.bytes([doubt]), path: "/v1/doubts").status == 400)
        // It made a line of its own in the overview's table.
        #expect(try await Self.post(one.url, gateway, [], path: "/v1/doubts?store=s1&person=an%0Ana").status == 400)
        let again = try await Self.post(
            one.url, gateway, FleetLines.bytes([FleetEntryTests.entry(2, key: "a", ml: 71)]),
            [("Waterh-Told", "s1 0 1")])
        #expect(again.status == 409 && FleetStanding.Ahead(again.body) == .init(generation: 1, keys: ["a"]))
        let page = try await Self.get(two.url + "/people/anna", nurse)
        #expect(
            page.status == 200 && page.text.contains("hostClock") && page.text.contains("2026-02-02")
                && page.text.contains(">70<"), "\(page)")
        for (path, credential, status, words) in [
            ("/people/bob", nurse, 404, "nobody"), ("/v1/people/bob/drinks", nurse, 404, "nobody"),
            ("/people/bob", reader, 200, ">9<"), ("/v1/overview.csv", nurse, 200, "anna,"),
            ("/v1/people/anna/drinks", reader, 200, ",Europe/Berlin,2026-02-02,70,\n"),
            ("/metrics", nurse, 403, "sees these people"), ("/v1/audit", reader, 403, "only looks"),
            ("/metrics", reader, 200, "waterh_fleet_gateway_entries_total{gateway=\"ward-1\"} 2\n"),
            ("/v1/audit", admin, 200, "nurse: looked at anna\n"), ("/people/anna", gateway, 403, "shows nothing"),
        ] as [(String, String, Int, String)] {
            let answer = try await Self.get(two.url + path, credential)
            #expect(answer.status == status && answer.text.contains(words), "\(path): \(answer)")
        }
        #expect(try await !Self.get(two.url + "/v1/overview", nurse).text.contains("bob"))
        func forget(_ credential: String) async throws -> Int {
            try await OutgoingClient().send(
                OutgoingRequest(
                    "DELETE", one.url + "/v1/people/anna", headers: [("Authorization", "Bearer \(credential)")])
            ).status
        }
        for (credential, status) in [(nurse, 403), (admin, 200), (admin, 404)] {
            #expect(try await forget(credential) == status)
        }
        #expect(try await Self.get(two.url + "/people/anna", nurse).status == 404)
        #expect(try await fleet.run("forget", "anna", code: 3).contains("Nobody goes by that name"))
        #expect(try await fleet.run("rebuild") == "All days are added up again.\n")
        // Whoever is let in no more hears nothing more.
        _ = try await fleet.run("enrol", "nurse", "--revoke")
        #expect(
            try await Self.post(
                one.url, gateway, FleetLines.bytes([FleetEntryTests.entry(3, person: "bob", key: "c", ml: 9)])
            ).status == 200)
        #expect(try await watcher.finish(limit: 30).exitCode >= 0)
        for server in [one, two] { server.program.send(signal: SIGTERM) }
        for server in [one, two] { #expect(try await server.program.finish().exitCode == 0) }
    }
}
