import CommandStore
import Foundation
import Support
import Testing

/// The README and the tour (hardware/tour.md) are a promise: every command in them is executed.
///
/// A block marked `sh` runs here, as it stands. One marked `sh machine` runs in the bench machine
/// (`hardware/machine/tests` reads them). One marked `sh bench` names verbs of the bench itself: each of its lines must
/// stand in `benchLines`, which says what executes it. One marked `sh package` is what an owner types:
/// `Tests/System/package_tests.py` reads it and runs it in a fresh Debian. A `text` block behind a block is what it
/// prints: its lines come in that order, whatever the digits.
@Suite struct ReadmeTests {
    struct Block: Sendable, CustomTestStringConvertible {
        var page: String
        var kind: String
        var line: Int
        var text: String
        var expected: String?
        var testDescription: String { "\(page):\(line)" }
    }

    static let blocks: [Block] = ["README.md", "hardware/tour.md"].flatMap(blocks(of:))

    private static func blocks(of page: String) -> [Block] {
        guard let readme = try? String(contentsOfFile: Program.repository + "/" + page, encoding: .utf8) else {
            return []
        }
        var blocks: [Block] = []
        var open: (kind: String, line: Int, text: String)?
        for (index, line) in readme.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let block = open {
                guard line == "```" else {
                    open?.text += line + "\n"
                    continue
                }
                if block.kind == "text", let last = blocks.indices.last, blocks[last].expected == nil {
                    blocks[last].expected = block.text
                } else if block.kind.hasPrefix("sh") {
                    blocks.append(
                        Block(page: page, kind: block.kind, line: block.line, text: block.text, expected: nil))
                }
                open = nil
            } else if line.hasPrefix("```") {
                open = (String(line.dropFirst(3)), index + 1, "")
            }
        }
        return blocks
    }

    /// What executes the verbs of `hardware/bench` that the README shows.
    static let benchLines: [String: String] = [
        "hardware/bench demo --once": "theDemoPrintsItsTranscript",
        "hardware/bench test": "the run that you are reading",
        "hardware/bench benchmarks": "theBenchKnowsItsVerbs, and a person: figures are no test",
        "hardware/bench vm -- bluetoothctl list": "hardware/machine/tests",
    ]

    @Test func theReadmeHasCommands() {
        #expect(Self.blocks.count >= 4)
        #expect(Self.blocks.contains { $0.kind == "sh" })
    }

    /// Every key of waterh.toml is shown, in a block that runs.
    @Test(arguments: Configuration.keys) func theReadmeShowsTheKeysOfTheConfiguration(_ key: String) {
        #expect(
            Self.blocks.contains {
                $0.kind == "sh" && ($0.text.contains("\n\(key) = ") || $0.text.contains("\n[\(key)]\n"))
            })
    }

    @Test(arguments: blocks.filter { $0.kind == "sh bench" })
    func everyBenchLineIsExecutedSomewhere(block: Block) {
        for line in block.text.split(separator: "\n") {
            #expect(Self.benchLines[String(line)] != nil, "no test executes '\(line)'")
        }
    }

    /// Every kind of block has somebody who runs it.
    @Test func everyBlockIsOfAKnownKind() {
        #expect(Set(Self.blocks.map(\.kind)).isSubset(of: ["sh", "sh bench", "sh machine", "sh package"]))
        #expect(Self.blocks.contains { $0.kind == "sh package" })
    }

    @Test(arguments: blocks.filter { $0.kind == "sh" })
    func aBlockRunsAsWritten(block: Block) async throws {
        let result = try await run(block.text)
        #expect(result.exitCode == 0, "\(result.error)")
        expectLines(of: block.expected, in: result.output)
    }

    /// The console block is an excerpt of the tour that `TrackerCommandTests` replays.
    @Test func theTourIsAnExcerptOfTheTestedOne() throws {
        let readme = try String(contentsOfFile: Program.repository + "/hardware/tour.md", encoding: .utf8)
        let tour = try String(
            contentsOfFile: Program.repository + "/Tests/CommandTests/tracker-tour.txt", encoding: .utf8)
        let start = try #require(readme.range(of: "```console\n"))
        let end = try #require(readme.range(of: "\n```", range: start.upperBound..<readme.endIndex))
        var steps = readme[start.upperBound..<end.lowerBound].components(separatedBy: "\n$ ")
        steps[0].removeFirst(2)
        #expect(steps.count > 10)
        for step in steps {
            let text = "$ " + step.trimmingCharacters(in: .newlines)
            #expect(tour.contains(text + "\n"), "not in the tour: \(text)")
        }
    }

    /// The examples of captures/README.md are captures: each holds the published record.
    @Test func theFormatExamplesAreRead() async throws {
        let page = try String(contentsOfFile: Program.repository + "/captures/README.md", encoding: .utf8)
        let examples = page.components(separatedBy: "```text\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(examples.count == 2)
        for example in examples {
            let result = try await Program("waterh-replay").run(["drinks", "-", "--json"], input: Array(example.utf8))
            #expect(result.exitCode == 0, "\(result.error)")
            #expect(result.lines.count == 1 && result.output.contains(#""at":"2026-02-02T22:21:15","amountMl":16"#))
        }
    }

    /// "To change … look at … then run": what is to be run names tests that there are, and so are part of
    /// `hardware/bench test`, or a verb of the bench; what is to be looked at is there.
    @Test func everyRowOfTheTableOfChangesNamesWhatThereIs() async throws {
        let readme = try String(contentsOfFile: Program.repository + "/README.md", encoding: .utf8)
        let table = try #require(
            readme.components(separatedBy: "| to change | look at | then run |\n|---|---|---|\n").last)
        let rows = table.components(separatedBy: "\n").prefix { $0.hasPrefix("| ") }.map {
            $0.components(separatedBy: " | ")
        }
        #expect(rows.count >= 14)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tests = try await Program(path: own).run(["--testing-library", "swift-testing", "--list-tests"]).lines
        #expect(tests.count > 100)
        let help = try await Program(path: Program.repository + "/hardware/bench").run(["help"]).output
        for row in rows {
            try #require(row.count == 3, "\(row)")
            let command = row[2].replacing("`", with: "").replacing(" |", with: "").split(separator: " ").map(
                String.init)
            try #require(command.count >= 2 && command[0] == "hardware/bench", "\(row)")
            #expect(help.contains("\n  \(command[1]) "), "\(row)")
            for word in command.dropFirst(2) where command[1] == "only" {
                #expect(tests.contains { $0.contains(word) }, "no test is called '\(word)'")
            }
            let places = row[1].components(separatedBy: "`").enumerated().filter {
                $0.offset % 2 == 1 && $0.element.contains("/")
            }.map(\.element)
            for place in places {
                let isThere = ["/", "/Sources/"].contains {
                    FileManager.default.fileExists(atPath: Program.repository + $0 + place)
                }
                #expect(isThere, "\(place) is not there")
            }
        }
    }

    @Test func theBenchKnowsItsVerbs() async throws {
        let bench = Program(path: Program.repository + "/hardware/bench")
        let help = try await bench.run(["help"])
        #expect(help.exitCode == 0)
        for verb in ["demo", "test", "benchmarks", "vm", "soak", "fuzz", "package", "doctor", "setup"] {
            #expect(help.output.contains("\n  \(verb) "))
        }
        #expect(try await bench.run(["dance"]).exitCode == 2)
        for script in ["benchmarks", "fuzz", "machine/vm", "machine/soak", "machine/tests"] {
            #expect(access(Program.repository + "/hardware/\(script)", X_OK) == 0, "hardware/\(script) is missing")
        }
        #expect(try await Program(path: Program.repository + "/hardware/benchmarks").run(["nonsense"]).exitCode == 2)
    }

    @Test func theDemoPrintsItsTranscript() async throws {
        let block = try #require(Self.blocks.first { $0.text.hasPrefix("hardware/bench demo --once") })
        let result = try await run("waterh-gateway demo --once")
        #expect(result.exitCode == 0, "\(result.error)")
        // The bottle's clock counts whole seconds: on a busy machine it is asked in the next one.
        expectLines(of: block.expected, in: result.output.replacing(/clock 1 s (slow|fast)/, with: "clock right"))
    }

    /// Runs it with the built commands on PATH, in the repository, with a home of its own that goes away.
    private func run(_ script: String) async throws -> Program.Result {
        let shell = try #require(Program(system: "bash"))
        let folder = try TemporaryFolder()
        let environment = [
            "PATH": Program.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"),
            "HOME": folder.path, "XDG_STATE_HOME": folder.file("state"), "XDG_CONFIG_HOME": folder.file("config"),
            "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "B": folder.path, "TZ": "Europe/Berlin",
        ]
        // Whatever a block leaves running in the background ends with it.
        let text = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n" + script
        return try await shell.run(["-c", text], environment: environment, directory: Program.repository, limit: 120)
    }

    private func expectLines(of expected: String?, in output: String) {
        guard let expected else { return }
        var rest = output.split(separator: "\n").map(withoutDigits)[...]
        for line in expected.split(separator: "\n") where line != "…" {
            guard let found = rest.firstIndex(of: withoutDigits(line)) else {
                Issue.record("the README shows this line, and it was not printed (in this order): \(line)\n\(output)")
                return
            }
            rest = rest[(found + 1)...]
        }
    }

    /// Figures and the blanks that align them may differ from day to day.
    private func withoutDigits(_ line: Substring) -> String {
        line.replacing(/[0-9]+/, with: "0").replacing(/[ ]+/, with: " ").trimmingCharacters(in: .whitespaces)
    }
}
