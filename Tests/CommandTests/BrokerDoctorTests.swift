import Foundation
import Support
import Testing

@Suite(.timeLimit(.minutes(3))) struct BrokerDoctorTests {
    private struct Check: Decodable { var check, status, found: String; var advice: String? }
    private struct Report: Decodable { var checks: [Check] }

    private func mqtt(_ folder: TemporaryFolder, _ lines: String, store: String = "s.sqlite") async throws -> Check? {
        let config = folder.url("waterh.toml")
        try Data("link = \"unix:\(folder.file("none.sock"))\"\nstore = \"\(folder.file(store))\"\n\(lines)".utf8).write(
            to: config)
        let result = try await Program("waterh-gateway").run(["doctor", "--json", "--config", config.path])
        let report = try JSONDecoder().decode(Report.self, from: Data(result.outputBytes))
        return report.checks.first { $0.check == "mqtt" }
    }

    @Test func `doctor reports whether the broker accepts the login`() async throws {
        let folder = try TemporaryFolder()
        #expect(try await mqtt(folder, "") == nil)
        let open = try await Broker()
        let good = try #require(try await mqtt(folder, "[mqtt]\nurl = \"\(open.url)\"\n"))
        #expect(
            good.status == "good" && good.found.contains("\(open.url) at hydration")
                && good.found.contains("accepts the connection"), "\(good)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("s.sqlite")))
        let ear = try await open.listen("#")
        try await open.publish("end", "x")
        _ = try await ear.line { $0 == "0 end x" }
        #expect(ear.output == "0 end x\n")
        let closed = try await Broker { _ in ["allow_anonymous false"] }
        let refused = try #require(try await mqtt(folder, "[mqtt]\nurl = \"\(closed.url)\"\n"))
        #expect(
            refused.status == "bad" && refused.found.contains("refuses")
                && refused.advice?.contains("password-file") == true, "\(refused)")
        let nobody = try #require(try await mqtt(folder, "[mqtt]\nurl = \"mqtt://127.0.0.1:1\"\n"))
        #expect(
            nobody.status == "bad" && nobody.found.contains("cannot be reached")
                && nobody.advice?.contains("url = ") == true, "\(nobody)")
        let plain = try #require(try await mqtt(folder, "[mqtt]\nurl = \"mqtts://127.0.0.1:\(open.port)\"\n"))
        #expect(plain.status == "bad" && plain.advice?.isEmpty == false, "\(plain)")
        mkfifo(folder.file("pipe"), 0o600)
        let pipe = try #require(
            try await mqtt(
                folder, "[mqtt]\nurl = \"\(open.url)\"\nuser = \"a\"\npassword-file = \"\(folder.file("pipe"))\"\n"))
        #expect(pipe.status == "bad" && pipe.found.contains("is a pipe"), "\(pipe)")
    }

    @Test func `doctor reports a topic prefix of another store`() async throws {
        let (broker, folder) = (try await Broker(), try TemporaryFolder())
        let lines = "[mqtt]\nurl = \"\(broker.url)\"\n"
        try Data(
            """
            link = \"unix:\(folder.file("none.sock"))\"\nstore = \"\(folder.file("other.sqlite"))\"\nlisten = \
            \"off\"\n\(lines)
            """
            .utf8
        ).write(to: folder.url("other.toml"))
        let service = try Program("waterh-gateway").start(["run", "--config", folder.file("other.toml")])
        let ear = try await broker.listen("hydration/bridge/info")
        #expect(await event { ear.output.isEmpty ? nil : true } == true, "\(service.error)")
        let taken = try #require(try await mqtt(folder, lines))
        #expect(
            taken.status == "bad" && taken.found.contains("another store (waterh-")
                && taken.advice?.contains("settings set mqtt.prefix NAME") == true, "\(taken)")
        #expect(try await mqtt(folder, lines, store: "other.sqlite")?.status == "good")
        #expect(try await mqtt(folder, lines + "prefix = \"mine\"\n")?.status == "good")
        #expect(try await service.stop().exitCode == 0)
    }
}
