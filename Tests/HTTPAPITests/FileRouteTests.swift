import Foundation
@testable import WebServer
import Store
import Testing

/// Downloads and uploads of files. Serialized, because at most two uploads run at once.
@Suite(.serialized, .timeLimit(.minutes(2))) struct FileRouteTests {
    @Test(arguments: [
        ("json", "application/json", "json"), ("csv", "text/csv; charset=utf-8", "csv"),
        ("apple-health", "application/xml", "xml"),
    ])
    func `an export is imported once into another store`(format: String, type: String, ending: String) async throws {
        try await ServedHousehold.serve { house async throws in
            for ml in [250, 330] {
                #expect(
                    try await house.ask(
                        "POST", "/api/v1/drinks", "{\"ml\": \(ml), \"at\": \"2026-06-15T0\(ml == 250 ? 8 : 9):00\"}",
                        headers: house.page
                    ).status == 201)
            }
            let export = try await house.ask("GET", "/api/v1/export?format=\(format)")
            #expect(export.status == 200 && export.headers["content-type"] == type)
            #expect(export.headers["content-disposition"] == "attachment; filename=\"drinks-2026-06-15.\(ending)\"")
            try await ServedHousehold.serve { other async throws in
                for added in [2, 0] {
                    let taken = try await other.ask(
                        "POST", "/api/v1/import", export.body,
                        headers: other.page.merging(["Content-Type": "application/octet-stream"]) { $1 })
                    #expect(taken.status == 200 && taken.json["added"] as? Int == added, "\(taken.body)")
                }
                #expect(try await other.ask("GET", "/api/v1/state").json["dailyTotalMl"] as? Int == 580)
            }
        }
    }

    @Test func `a repeated upload with one key has the first response, another file is rejected`() async throws {
        try await ServedHousehold.serve { house async throws in
            let headers = house.page.merging(["Idempotency-Key": "file-1", "Content-Type": "text/csv"]) { $1 }
            let file = "startDate,value_ml\n2026-06-15T09:00:00Z,150\n"
            #expect(try await house.ask("POST", "/api/v1/import", file, headers: headers).json["added"] as? Int == 1)
            let again = try await house.ask("POST", "/api/v1/import", file, headers: headers)
            #expect(again.headers["idempotent-replayed"] == "true" && again.json["added"] as? Int == 1)
            #expect(
                try await house.ask("POST", "/api/v1/import", file + "2026-06-15T10:00:00Z,50\n", headers: headers)
                    .status == 409)
        }
    }

    @Test(arguments: [
        ("import", "no file of ours", "text/plain"), ("import", "", "text/plain"),
        ("journal/import", "{\"version\": 1}\n", "application/jsonl"),
        ("journal/import", "nonsense", "application/jsonl"),
    ])
    func `an invalid file is rejected with a reason`(path: String, file: String, type: String) async throws {
        try await ServedHousehold.serve { house async throws in
            let reply = try await house.ask(
                "POST", "/api/v1/\(path)", file, headers: house.page.merging(["Content-Type": type]) { $1 })
            #expect(reply.status == 422 && reply.json["detail"] as? String != nil, "\(reply.status) \(reply.body)")
            #expect(try await house.ask("GET", "/api/v1/state").json["dailyTotalMl"] as? Int == 0)
        }
    }

    @Test func `a backup needs administrator access`() async throws {
        try await ServedHousehold.serve { house async throws in
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 300}"#, headers: house.page).status == 201)
            #expect(try await house.ask("GET", "/api/v1/backup", headers: house.token(.control)).status == 403)
            #expect(try await house.ask("POST", "/api/v1/import", "x", headers: house.token(.log)).status == 403)
            // A backup contains sessions: another host gets none while sessions are private.
            let backup = try await house.ask("GET", "/api/v1/backup", headers: house.token(.admin))
            #expect(
                backup.status == 200 && backup.headers["content-type"] == "application/vnd.sqlite3", "\(backup.body)")
            #expect(backup.body.hasPrefix("SQLite format 3"))
            #expect(Int(backup.headers["content-length"] ?? "") ?? 0 > 4096)
        }
    }

    @Test func `the journal is exported as lines`() async throws {
        try await ServedHousehold.serve { house async throws in
            let reply = try await house.ask("GET", "/api/v1/journal/export")
            #expect(reply.status == 200 && reply.headers["content-type"] == "application/jsonl" && reply.body.isEmpty)
            #expect(try await house.ask("GET", "/api/v1/export?format=pdf").code == "notAFormat")
        }
    }
}
