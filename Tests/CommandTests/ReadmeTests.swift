import CommandSupport
import Foundation
import Support
import Testing

/// Executes every command of the README and of the pages in `docs`.
///
/// A block marked `sh` runs here as written. `sh owner` runs with an emulated bottle, whose link is in `WATERH_LINK`.
/// `sh machine` runs in the test VM (`hardware/machine/tests`). `sh bench` has subcommands of `hardware/bench`, each
/// listed in `benchLines`. `sh package` runs in a fresh Debian (`Tests/System/package_tests.py`). A `text` block after
/// a block has lines of its output, in order, with any digits.
@Suite struct ReadmeTests {
    struct Block: Sendable, CustomTestStringConvertible {
        var page: String
        var kind: String
        var line: Int
        var text: String
        var expected: String?
        var testDescription: String { "\(page):\(line)" }
    }

    static let pages =
        ["README.md", "CONTRIBUTING.md", "hardware/machine/README.md"]
        + ((try? FileManager.default.contentsOfDirectory(atPath: Program.repository + "/docs")) ?? []).filter {
            $0.hasSuffix(".md")
        }.sorted().map { "docs/" + $0 }
    static let blocks: [Block] = pages.flatMap(blocks(of:))

    private static func blocks(of page: String) -> [Block] {
        guard let readme = try? Program.repositoryText(page) else { return [] }
        var blocks: [Block] = []
        var open: (kind: String, line: Int, text: String)?
        var isAfterBlock = false
        for (index, line) in readme.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let block = open {
                guard line == "```" else {
                    open?.text += line + "\n"
                    continue
                }
                if block.kind == "text", isAfterBlock, let last = blocks.indices.last {
                    blocks[last].expected = block.text
                } else if block.kind.hasPrefix("sh") {
                    blocks.append(
                        Block(page: page, kind: block.kind, line: block.line, text: block.text, expected: nil))
                }
                isAfterBlock = block.kind.hasPrefix("sh")
                open = nil
            } else if line.hasPrefix("```") {
                open = (String(line.dropFirst(3)), index + 1, "")
            } else if !line.isEmpty {
                isAfterBlock = false
            }
        }
        return blocks
    }

    /// The lines of `sh bench` blocks and the program that executes each.
    static let benchLines: [String: String] = [
        "hardware/bench demo --once": "the demo prints its transcript", "hardware/bench test": "the run of this test",
        "hardware/bench benchmarks": "a person: speed is not a test",
        "hardware/bench vm -- bluetoothctl list": "hardware/machine/tests",
    ]

    @Test func `README and docs have code blocks of every kind`() {
        #expect(Set(Self.blocks.map(\.kind)) == ["sh", "sh owner", "sh bench", "sh machine", "sh package"])
    }

    @Test(arguments: Configuration.keys) func `the executed README blocks contain every key of waterh.toml`(
        _ key: String
    ) {
        #expect(
            Self.blocks.contains {
                $0.kind == "sh" && ($0.text.contains("\n\(key) = ") || $0.text.contains("\n[\(key)]\n"))
            })
    }

    @Test(arguments: blocks.filter { $0.kind == "sh bench" })
    func `every command line in a README bench block is executed by a test`(block: Block) {
        for line in block.text.split(separator: "\n") {
            #expect(Self.benchLines[String(line)] != nil, "no test executes '\(line)'")
        }
    }

    @Test(arguments: blocks.filter { $0.kind == "sh" || $0.kind == "sh owner" })
    func `each code block of README and docs runs as written`(block: Block) async throws {
        let result = try await run(block.text, withBottle: block.kind == "sh owner")
        #expect(result.exitCode == 0, "\(result.error)")
        expectLines(of: block.expected, in: result.output)
    }

    @Test func `the console block is an excerpt of the tested tour`() throws {
        let readme = try Program.repositoryText("docs/getting-started.md")
        let tour = try Program.repositoryText("Tests/CommandTests/tracker-tour.txt")
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

    @Test func `the format examples are valid captures`() async throws {
        let page = try Program.repositoryText("docs/captures.md")
        let examples = page.components(separatedBy: "```text\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(examples.count == 2)
        for example in examples {
            let result = try await Program.replay.succeed("drinks - --json", input: Array(example.utf8))
            #expect(result.lines.count == 1 && result.output.contains(#""at":"2026-02-02T22:21:15","amountMl":16"#))
        }
    }

    @Test func `every row of the table of changes names files and tests that exist`() async throws {
        let page = try Program.repositoryText("CONTRIBUTING.md")
        let table = try #require(
            page.components(separatedBy: "| to change | look at | then run |\n|---|---|---|\n").last)
        let rows = table.components(separatedBy: "\n").prefix { $0.hasPrefix("| ") }.map {
            $0.components(separatedBy: " | ")
        }
        #expect(rows.count >= 14)
        let tests = try await Program.testNames()
        let help = try await Program(path: Program.repository + "/hardware/bench").run(["help"]).output
        for row in rows {
            try #require(row.count == 3, "\(row)")
            let command = row[2].replacing("`", with: "").replacing(" |", with: "").split(separator: " ").map(
                String.init)
            try #require(command.count >= 2 && command[0] == "hardware/bench", "\(row)")
            #expect(help.contains("\n  \(command[1]) "), "\(row)")
            for word in command.dropFirst(2) where command[1] == "only" {
                #expect(tests.contains { $0.contains(word) }, "no test is named '\(word)'")
            }
            let paths = row[1].components(separatedBy: "`").enumerated().filter {
                $0.offset % 2 == 1 && $0.element.contains("/")
            }.map(\.element)
            for path in paths {
                let exists = ["/", "/Sources/"].contains {
                    FileManager.default.fileExists(atPath: Program.repository + $0 + path)
                }
                #expect(exists, "\(path) does not exist")
            }
        }
    }

    @Test func `README, docs and pages do not exceed their sizes`() throws {
        for page in Self.pages where page == "README.md" || page.hasPrefix("docs/") {
            let lines = try Program.repositoryText(page).split(separator: "\n", omittingEmptySubsequences: false)
                .dropLast()
            #expect(lines.count <= (page == "README.md" ? 150 : 200), "\(page) is too long")
            var (isFenced, paragraph) = (false, 0)
            for (index, line) in lines.enumerated() {
                if line.hasPrefix("```") { isFenced.toggle() }
                let isProse = !isFenced && !line.isEmpty && !["|", "```", "    "].contains { line.hasPrefix($0) }
                // An item of a list is a paragraph of its own.
                paragraph = isProse ? (line.hasPrefix("- ") || line.first?.isNumber == true ? 1 : paragraph + 1) : 0
                #expect(paragraph <= 6 && (!isProse || line.count <= 120), "\(page):\(index + 1)")
            }
        }
    }

    @Test func `the demo prints its transcript`() async throws {
        let block = try #require(Self.blocks.first { $0.text.hasPrefix("hardware/bench demo --once") })
        let result = try await run("waterh-gateway demo --once")
        #expect(result.exitCode == 0, "\(result.error)")
        // The bottle's clock counts whole seconds. On a busy machine the query can arrive one second later.
        expectLines(of: block.expected, in: result.output.replacing(/clock 1 s (slow|fast)/, with: "clock correct"))
    }

    /// Runs a script in the repository with the built commands on `PATH` and with an empty home.
    private func run(_ script: String, withBottle: Bool = false) async throws -> Program.Result {
        let shell = try #require(Program(system: "bash"))
        let folder = try TemporaryFolder()
        var environment = [
            "PATH": Program.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"),
            "HOME": folder.path, "XDG_STATE_HOME": folder.file("state"), "XDG_CONFIG_HOME": folder.file("config"),
            "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "B": folder.path, "TZ": "Europe/Berlin",
        ]
        // Ends the background jobs of a block with it.
        var text = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n"
        if withBottle {
            environment["WATERH_LINK"] = "unix:" + folder.file("bottle.sock")
            text += """
                waterh-emulator run --link $WATERH_LINK --capture captures/boost_two-days.btsnoop \
                --restamp today >$B/bottle &
                until grep -q ready $B/bottle; do sleep 0.1; done

                """
        }
        text += script
        return try await shell.run(["-c", text], environment: environment, directory: Program.repository, limit: 120)
    }

    private func expectLines(of expected: String?, in output: String) {
        guard let expected else { return }
        var rest = output.split(separator: "\n").map(withoutDigits)[...]
        for line in expected.split(separator: "\n") where line != "…" {
            guard let found = rest.firstIndex(of: withoutDigits(line)) else {
                Issue.record("missing in the output, or out of order: \(line)\n\(output)")
                return
            }
            rest = rest[(found + 1)...]
        }
    }

    /// Digits, and the spaces that align them, can differ between runs.
    private func withoutDigits(_ line: Substring) -> String {
        line.replacing(/[0-9]+/, with: "0").replacing(/[ ]+/, with: " ").trimmingCharacters(in: .whitespaces)
    }
}

/// The example programs of hardware/ci.
@Suite struct CIExampleTests {
    private static let folder = Program.repository + "/hardware/ci/"
    private let emulator = Program.emulator.path

    @Test(arguments: [("python3", "bottle.py"), ("node", "bottle.mjs"), ("cc", "bottle.c")])
    func `each example program reads the drink`(tool: String, file: String) async throws {
        var program = try #require(Program(system: tool), "\(tool) is not installed: run hardware/bench setup")
        var arguments = [Self.folder + file]
        let folder = try TemporaryFolder()
        if tool == "cc" {
            try await program.succeed(["-Wall", "-Wextra", "-Werror", "-o", folder.file("bottle")] + arguments)
            (program, arguments) = (Program(path: folder.file("bottle")), [])
        }
        let result = try await program.run(arguments + [emulator], limit: 30)
        #expect(result.exitCode == 0 && result.output == "250 ml received\n", "\(result.output)\(result.error)")
        withExtendedLifetime(folder) {}
    }
}
