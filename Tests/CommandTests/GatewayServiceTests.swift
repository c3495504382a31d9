import Foundation
import Support
import Testing

@Suite struct GatewayServiceTests {
    @Test func theServicePollsReloadsAndStopsCleanly() async throws {
        let pair = try await Pair()
        let config = pair.folder.url("waterh.toml")
        try Data("link = \"\(pair.socket)\"\nstore = \"\(pair.store)\"\n".utf8).write(to: config)
        try await pair.sip(120)
        let service = try Program("waterh-gateway").start(["run", "--config", config.path])
        #expect(await event(within: 20) { service.error.contains("1 received: 1 new") ? true : nil } == true)
        // A reload polls at once.
        try await pair.sip(130)
        service.send(signal: SIGHUP)
        #expect(await event(within: 20) { service.error.contains("Today: 250 ml") ? true : nil } == true)
        // A file that is wrong now changes nothing and is named.
        try Data("lynk = 3\n".utf8).write(to: config)
        service.send(signal: SIGHUP)
        #expect(await event(within: 20) { service.error.contains("unknown key 'lynk'") ? true : nil } == true)
        #expect(service.isRunning)
        service.send(signal: SIGTERM)
        let result = try await service.finish(limit: 20)
        #expect(result.exitCode == 0)
        #expect(!result.signalled)
    }

    @Test func flagsComeBeforeTheFile() async throws {
        let pair = try await Pair()
        let config = pair.folder.url("waterh.toml")
        try Data("link = \"unix:/nowhere\"\nkeep = true\n".utf8).write(to: config)
        try await pair.sip(90)
        let service = try Program("waterh-gateway").start(["run", "--config", config.path, "--link", pair.socket, "--store", pair.store])
        #expect(await event(within: 20) { service.error.contains("0 acknowledged") ? true : nil } == true)
        service.send(signal: SIGINT)
        #expect(try await service.finish(limit: 20).exitCode == 130)
    }

    @Test(arguments: ["link = ", "link = 3", "keep = \"yes\"", "dialect = \"lunar\"", "colour = \"blue\""])
    func aWrongConfigurationIsExitCode4(_ text: String) async throws {
        let folder = try TemporaryFolder()
        try Data(text.utf8).write(to: folder.url("waterh.toml"))
        let result = try await Program("waterh-gateway").run(["run", "--config", folder.url("waterh.toml").path])
        #expect(result.exitCode == 4)
        #expect(result.error.contains("waterh.toml"))
    }
}
