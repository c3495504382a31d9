import CommandKit
import Foundation
import Support
import Testing

/// A command that is printed does what it says when it is copied.
@Suite struct PrintedCommandTests {
    @Test(
        arguments: [
            ([], "See: waterh-tracker journal list", "See: waterh-tracker journal list"),
            (
                ["log", "250", "--store", "a.sqlite"], "See: waterh-tracker journal list",
                "See: waterh-tracker --store a.sqlite journal list"
            ),
            (
                ["--store=a b"], "waterh-tracker log 250, waterh-tracker status.",
                "waterh-tracker --store 'a b' log 250, waterh-tracker --store 'a b' status."
            ),
            (
                ["--store", "it's"], "sudo -u waterh waterh-tracker status",
                #"sudo -u waterh waterh-tracker --store 'it'\''s' status"#
            ),
            // Only to verbs that take it, and only where it does not stand there already.
            (
                ["--link", "unix:/b", "--store", "s"], "waterh-gateway adopt X, or waterh-gateway poll",
                "waterh-gateway --store s adopt X, or waterh-gateway --link unix:/b --store s poll"
            ),
            (
                ["--store", "s"], "waterh-gateway demo, waterh-replay info FILE, waterh-emulator run",
                "waterh-gateway demo, waterh-replay info FILE, waterh-emulator run"
            ),
            (
                ["--store", "s"], "See it with: waterh-tracker status --store other",
                "See it with: waterh-tracker status --store other"
            ),
            (
                ["--store", "s"], "Run waterh-tracker … or waterh-tracker frobnicate",
                "Run waterh-tracker … or waterh-tracker frobnicate"
            ),
            (
                ["--config", "c", "--zone", "UTC", "--now", "2026-01-01T00:00"], "waterh-gateway doctor looks",
                "waterh-gateway --config c --zone UTC doctor looks"
            ),
            // The last one counts, and what stands behind -- is none; nor is an option without its value.
            (
                ["--store", "a", "--store", "b", "--", "--store", "c"], "waterh-tracker undo",
                "waterh-tracker --store b undo"
            ), (["--store"], "waterh-tracker undo", "waterh-tracker undo"),
            (["--store", "s"], "waterh-tracker", "waterh-tracker"), (["--store", "s"], "", ""),
        ] as [([String], String, String)])
    func whatWasGivenStandsInThem(_ given: [String], _ text: String, _ expected: String) {
        #expect(PrintedCommands(given: given).completed(text) == expected)
        #expect(PrintedCommands(given: given).completed(expected) == expected, "once is enough")
    }

    /// The table is what the programs say of themselves.
    @Test(
        arguments: PrintedCommands.options.flatMap { program, verbs in verbs.keys.map { (program, $0) } }.sorted {
            $0 < $1
        })
    func everyVerbTakesWhatThePrintedCommandsGiveIt(_ program: String, _ verb: String) async throws {
        let ofGroup = ["session": "show", "preset": "list", "settings": "get", "token": "list", "journal": "list"]
        let help = try await Program(program).run([verb] + (ofGroup[verb].map { [$0] } ?? []) + ["--help"])
        #expect(help.exitCode == 0, "\(help.error)")
        let shown = Set(help.output.matches(of: /--[a-z-]+/).map { String($0.output) })
        let known = Set(PrintedCommands.options[program]?[verb] ?? [])
        #expect(
            known.isSubset(of: shown)
                && known == shown.intersection(["--link", "--store", "--person", "--config", "--zone"]))
    }

    /// From the refusal to the drinks by copying what is printed, with a store and a link that have to be named.
    @Test func aRefusalTellsTheVeryCommandThatHelps() async throws {
        let mine = try await Pair()
        let other = try await Pair(["--address", "A4:C1:38:00:00:77"])
        try await other.sip(200)
        #expect(try await mine.poll().exitCode == 0)
        let gateway = Program("waterh-gateway")
        let config = mine.folder.file("my config.toml")
        try Data("store = \"\(mine.store)\"\n".utf8).write(to: URL(fileURLWithPath: config))
        for way in [["--store", mine.store], ["--config", config]] {
            let store = mine.folder.file("\(way.count)-\(way[0]).sqlite")
            let refused = try await gateway.run(["poll", "--link", other.socket] + way)
            #expect(refused.exitCode == 3, "\(refused.error)")
            let command = try #require(
                refused.error.firstMatch(of: /waterh-gateway [^\n]*? adopt 'A4:C1:38:00:00:77'/).map {
                    String($0.output)
                }, "\(refused.error)")
            // The same as JSON.
            let json = try await gateway.run(["poll", "--json", "--link", other.socket] + way)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(json.outputBytes)) as? [String: Any])
            #expect((object["hint"] as? String)?.contains(command) == true, "\(json.output)")
            guard way[0] == "--config" else { continue }
            let bash = try #require(Program(system: "bash"))
            let copied = try await bash.run(
                ["-c", command],
                environment: [
                    "PATH": Program.products + ":/usr/bin:/bin", "HOME": mine.folder.path,
                    "XDG_STATE_HOME": mine.folder.file("state"),
                ])
            #expect(copied.exitCode == 0 && copied.output.contains("own from now on"), "\(command): \(copied.error)")
            #expect(
                !FileManager.default.fileExists(atPath: mine.folder.file("state"))
                    && !FileManager.default.fileExists(atPath: store))
            #expect(try await gateway.run(["poll", "--link", other.socket] + way).output.contains("1 new"))
        }
    }

    /// What every verb takes may stand before the verb, in both programs.
    @Test(arguments: [
        "waterh-tracker --store s.sqlite status", "waterh-tracker --store=s.sqlite --json status",
        "waterh-gateway --store s.sqlite --link unix:nowhere doctor",
    ])
    func optionsMayStandBeforeTheVerb(_ line: String) async throws {
        let home = try TemporaryFolder()
        let words = line.split(separator: " ").map(String.init)
        let result = try await Program(words[0]).run(
            Array(words.dropFirst()), environment: ["HOME": home.path], directory: home.path)
        #expect(
            result.exitCode != 2 && (result.error + result.output).contains("s.sqlite"),
            "\(result.error)\(result.output)")
    }
}
