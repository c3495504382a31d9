import Foundation
import Support
import Testing

/// The store of a system service belongs to its user. Members of its group query the service and get the same output.
@Suite(.enabled(if: geteuid() == 0, "another user is needed")) struct ServiceDayTests {
    /// A service that runs as this user, with its folders as systemd creates them, and a user with access to the socket
    /// only.
    private struct Bench {
        let folder: TemporaryFolder
        let service: RunningProgram

        init() async throws {
            folder = try TemporaryFolder()
            for (name, mode) in [("state", 0o700), ("run", 0o750), ("home", 0o777)] as [(String, mode_t)] {
                try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
                chmod(folder.file(name), mode)
            }
            chmod(folder.path, 0o755)
            try Data(
                """
                store = \"\(folder.file("state/day.sqlite"))\"\nlink = \"unix:\(folder.file("none"))\"\nlisten = \
                \"off\"\n
                """
                .utf8
            ).write(to: folder.url("w.toml"))
            let shell = try #require(Program(system: "sh"))
            // Another process makes the copy: a file that the test process has open for writing cannot be executed
            // while other tests start programs.
            _ = try await shell.run([
                "-c",
                """
                cp '\(Program("waterh-tracker").path)' '\(folder.file("waterh-tracker"))' && chmod 755 \
                '\(folder.file("waterh-tracker"))'
                """,
            ])
            let environment = [
                "HOME": folder.file("state"), "RUNTIME_DIRECTORY": folder.file("run"), "DBUS_SESSION_BUS_ADDRESS": "",
                "WATERH_STORE": "", "TZ": "UTC",
            ]
            _ = try await Program("waterh-tracker").run(
                ["setup", "--yes", "--notifications", "skip", "--config", folder.file("w.toml")],
                environment: environment)
            service = try Program("waterh-gateway").start(
                ["run", "--config", folder.file("w.toml"), "--verbose"], environment: environment)
            let run = folder.file("run")
            _ = await event {
                (try? FileManager.default.contentsOfDirectory(atPath: run))?.contains { $0.hasSuffix(".sock") } == true
                    ? true : nil
            }
        }

        /// Runs a command as the service's user.
        func own(_ words: String...) async throws -> Program.Result {
            try await Program("waterh-tracker").run(
                words + ["--config", folder.file("w.toml")],
                environment: [
                    "HOME": folder.file("state"), "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": "", "TZ": "UTC",
                ])
        }

        private var asMember: (arguments: [String], environment: [String: String]) {
            (
                ["--reuid=65534", "--regid=65534", "--groups=0", folder.file("waterh-tracker")],
                [
                    "HOME": folder.file("home"), "TMPDIR": folder.file("home"), "RUNTIME_DIRECTORY": folder.file("run"),
                    "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": "", "TZ": "UTC",
                ]
            )
        }

        /// Runs a command as a member of the service's group.
        func member(_ words: String...) async throws -> Program.Result {
            try await #require(Program(system: "setpriv")).run(
                asMember.arguments + words + ["--config", folder.file("w.toml")], environment: asMember.environment)
        }

        func memberStarts(_ words: String...) throws -> RunningProgram {
            try #require(Program(system: "setpriv")).start(
                asMember.arguments + words + ["--config", folder.file("w.toml")], environment: asMember.environment)
        }
    }

    @Test func `a member of the group uses the service's store`() async throws {
        let bench = try await Bench()
        // Masks times and ids.
        func plain(_ text: String) -> String { text.replacing(/[0-9]{2}:[0-9]{2}|\b[dw][0-9]+\b/, with: "…") }
        _ = try await bench.own("log", "250")
        let mine = try await bench.own("log", "cup")
        _ = try await bench.own("undo")
        let members = try await bench.member("log", "cup")
        #expect(
            members.exitCode == 0 && members.error.isEmpty && plain(members.output) == plain(mine.output),
            "\(members)\n\(mine)")
        for words in [
            ["status"], ["status", "--format", "plain"], ["status", "--format", "waybar", "--item", "session"],
            ["history"],
        ] {
            let (his, hers) = (
                try await bench.own(
                    words[0], words.count > 1 ? words[1] : "--zone", words.count > 2 ? words[2] : "UTC"),
                try await bench.member(
                    words[0], words.count > 1 ? words[1] : "--zone", words.count > 2 ? words[2] : "UTC")
            )
            #expect(
                hers.exitCode == 0 && hers.error.isEmpty && plain(hers.output) == plain(his.output)
                    && !hers.output.isEmpty, "\(words): \(hers)\n\(his)")
        }
        for words in [["log", "5000"], ["water"]] {
            let (his, hers) = (
                try await bench.own(words[0], words.count > 1 ? words[1] : "--json"),
                try await bench.member(words[0], words.count > 1 ? words[1] : "--json")
            )
            #expect(
                hers.exitCode == his.exitCode && hers.exitCode != 0 && hers.error == his.error && hers.output.isEmpty,
                "\(words): \(hers)\n\(his)")
        }
        _ = try await bench.own("session", "start")
        for verb in ["drink", "water"] {
            let (his, hers) = (try await bench.own(verb), try await bench.member(verb))
            #expect(
                hers.exitCode == 0
                    && plain(hers.output).split(separator: "\n").first == plain(his.output).split(separator: "\n").first
                    && hers.output.split(separator: "\n").count >= 2, "\(hers)\n\(his)")
        }
        let undone = try await bench.member("undo")
        #expect(undone.exitCode == 0 && undone.output.hasPrefix("Undid: "), "\(undone)")
        let json = try await bench.member("log", "300", "--json")
        #expect(
            json.exitCode == 0 && json.output.contains("\"ml\":300") && json.output.contains("\"dailyTotalMl\":"),
            "\(json)")
        // Status bar: one line now, and one after each change.
        let bar = try bench.memberStarts("status", "--follow", "--format", "plain")
        let first = try await bar.line { $0.contains(" / ") }
        _ = try await bench.member("log", "500")
        _ = try await bar.line { $0.contains(" / ") && $0 != first }
        try await bar.stop()
        // Without a service the message includes an action.
        bench.service.send(signal: SIGTERM)
        _ = try await bench.service.finish(limit: 20)
        for verb in ["log", "status"] {
            let alone = try await (verb == "log" ? bench.member("log", "cup") : bench.member("status"))
            #expect(
                alone.exitCode == 1 && alone.output.isEmpty && alone.error.contains("it belongs to a service"),
                "\(alone)")
        }
    }
}
