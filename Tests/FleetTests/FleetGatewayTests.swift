import Foundation
import Support
import Testing

/// From the bottle to the overview, all of it the built programs: emulator, gateway, fleet, PostgreSQL.
@Suite(
    "From the bottle to the fleet",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetGatewayTests {
    @Test func aSipIsOnTheOverview() async throws {
        let fleet = try await FleetServeTests.Fleet()
        let credential = try await fleet.credential("ward-1"), reader = try await fleet.credential("desk", "--reader")
        let server = try await fleet.serve()
        let folder = try TemporaryFolder()
        let (link, control) = ("unix:" + folder.file("b"), "unix:" + folder.file("c"))
        let emulator = try Program("waterh-emulator").start(["run", "--link", link, "--control", control, "--quiet"])
        _ = try await emulator.line { $0.hasPrefix("ready ") }
        try Data("\(credential)\n".utf8).write(to: folder.url("token"))
        try Data(
            """
            link = "\(link)"
            store = "\(folder.file("w.sqlite"))"
            zone = "UTC"
            [fleet]
            url = "\(server.url)"
            token-file = "\(folder.file("token"))"
            """.utf8
        ).write(to: folder.url("waterh.toml"))
        // The connection is kept, so that a sip need not wait for the next poll, which is minutes later.
        let kept = try await Program("waterh-tracker").run([
            "settings", "set", "bottle.hold", "always", "--config", folder.file("waterh.toml"),
        ])
        #expect(kept.exitCode == 0, "\(kept.error)")
        let sip = try await Program("waterh-emulator").run(["control", "--control", control, "sip", "300"])
        #expect(sip.exitCode == 0, "\(sip.error)")
        let gateway = try Program("waterh-gateway").start(["run", "--config", folder.file("waterh.toml")])
        let isThere = await event(within: 30) {
            gateway.error.contains("Drinks are told to the fleet at \(server.url)") ? true : nil
        }
        #expect(isThere == true, "\(gateway.error)")
        let drink = try await Program("waterh-tracker").run(["log", "200", "--config", folder.file("waterh.toml")])
        #expect(drink.exitCode == 0, "\(drink.error)")
        // Nobody is listed: the one person is called as the gateway is.
        let seen = try await event(within: 30) {
            let text = try await FleetServeTests.get(server.url + "/v1/overview", reader).text
            return text.contains(#""name":"ward-1","todayMl":500"#) ? text : nil
        }
        let now = try await FleetServeTests.get(server.url + "/v1/overview", reader).text
        #expect(seen != nil, "\(now)\n\(gateway.error)")
        #expect(seen?.contains(#""gateway":"ward-1""#) == true, "the bottle is known, too")
        // And one while it runs. Measured on a busy machine: 0.1 to 0.6 s; here only that it comes long before a poll
        // would.
        let later = try await Program("waterh-emulator").run(["control", "--control", control, "sip", "250"])
        #expect(later.exitCode == 0, "\(later.error)")
        let isMore = try await event(within: 30) {
            try await FleetServeTests.get(server.url + "/v1/overview", reader).text.contains(#""todayMl":750"#)
                ? true : nil
        }
        #expect(isMore == true, "\(gateway.error)")
        let undone = try await Program("waterh-tracker").run(["undo", "--config", folder.file("waterh.toml")])
        #expect(undone.exitCode == 0, "\(undone.error)")
        let isLess = try await event(within: 30) {
            try await FleetServeTests.get(server.url + "/v1/overview", reader).text.contains(#""todayMl":550"#)
                ? true : nil
        }
        #expect(isLess == true)
        // It is told once and for all: the service may end at any time.
        for program in [gateway, server.program, emulator] { program.send(signal: SIGTERM) }
        #expect(try await gateway.finish().exitCode == 0)
    }
}
