import Foundation
import Support
import Testing

/// What ArgumentParser checks of a command's declarations at each start of a debug build, once and for every command: the bench's own build leaves that out.
@Suite struct DeclarationTests {
    @Test(arguments: ["waterh-emulator", "waterh-fleet", "waterh-gateway", "waterh-replay", "waterh-tracker"])
    func everyDeclarationCanBeMeant(_ program: String) async throws {
        let dumped = try await Program(program).run(["--experimental-dump-help"])
        let root = try #require(try JSONSerialization.jsonObject(with: Data(dumped.outputBytes)) as? [String: Any])
        var seen = 0
        for (path, command) in Self.commands(program, try #require(root["command"] as? [String: Any])) {
            seen += 1
            #expect(Self.faults(of: command) == [], "\(path)")
        }
        #expect(seen > 3, "\(program) has more than \(seen) commands")
    }

    @Test func aDeclarationThatCannotBeMeantIsNamed() {
        func argument(_ kind: String, _ name: String, repeats: Bool = false) -> [String: Any] {
            ["kind": kind, "isRepeating": repeats, "valueName": name, "names": kind == "positional" ? [] : [["kind": "long", "name": name]]]
        }
        #expect(Self.faults(of: ["arguments": [argument("option", "store"), argument("flag", "store")]]) == ["--store stands there twice"])
        #expect(Self.faults(of: ["arguments": [argument("positional", "files", repeats: true), argument("positional", "to")]]) == ["nothing can follow <files>, which takes all"])
        #expect(Self.faults(of: ["arguments": [argument("positional", "to"), argument("positional", "files", repeats: true), argument("flag", "x")]]) == [])
        #expect(Self.faults(of: ["subcommands": [["commandName": "a"], ["commandName": "b"], ["commandName": "a"]]]) == ["a stands there twice"])
    }

    /// Each command below this one and itself, with the words that a person types.
    private static func commands(_ path: String, _ command: [String: Any]) -> [(String, [String: Any])] {
        let below = command["subcommands"] as? [[String: Any]] ?? []
        return [(path, command)] + below.flatMap { commands("\(path) \($0["commandName"] ?? "")", $0) }
    }

    private static func faults(of command: [String: Any]) -> [String] {
        let arguments = command["arguments"] as? [[String: Any]] ?? []
        let options = arguments.flatMap { $0["names"] as? [[String: String]] ?? [] }.map { ($0["kind"] == "long" ? "--" : "-") + ($0["name"] ?? "") }
        let commands = (command["subcommands"] as? [[String: Any]] ?? []).compactMap { $0["commandName"] as? String }
        let twice = (options + commands).reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }.filter { $0.value > 1 }.keys.sorted()
        let positional = arguments.filter { $0["kind"] as? String == "positional" }
        let greedy = positional.dropLast().filter { $0["isRepeating"] as? Bool == true }.map { "nothing can follow <\($0["valueName"] ?? "")>, which takes all" }
        return twice.map { "\($0) stands there twice" } + greedy
    }
}
