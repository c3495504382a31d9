import Foundation
import Support
import Testing

/// The summary of `hardware/bench test`. A script replaces the test runner, because the suite cannot contain a test
/// that fails on purpose.
@Suite(.timeLimit(.minutes(2))) struct SuiteSummaryTests {
    private struct Bench {
        let folder: TemporaryFolder
        var report: String { folder.file("report") }

        init() throws { folder = try TemporaryFolder() }

        /// Runs a part of the suite with the given results, and returns the verdict.
        /// - Parameter runs: for each run the results of the tests T/a() and T/b(): `p`assed, `f`ailed, `s`kipped, `x`
        ///   never ended, `h`angs.
        func verdict(_ runs: [String], _ options: [String]) async throws -> Program.Result {
            let script = """
                #!/usr/bin/env python3
                import json, os, re, signal, sys
                with open("\(folder.file("state"))", "a") as state: state.write("x")
                number = os.path.getsize("\(folder.file("state"))") - 1
                ends = \(runs)[number]
                wanted = sys.argv[sys.argv.index("--filter") + 1] if "--filter" in sys.argv else ""
                out = open(sys.argv[sys.argv.index("--event-stream-output-path") + 1], "w")
                def write(entry, **payload):
                    print(json.dumps({"kind": entry, "payload": payload}), file=out, flush=True)
                for letter in "ab": write("test", kind="function", id=f"T/{letter}()/T.swift:1:2")
                for letter, end in zip("ab", ends):
                    if not re.search(wanted, f"T/{letter}()"): continue
                    test, words = f"T/{letter}()/T.swift:1:2", [{"text": f"words of {letter}"}]
                    if end == "s": write("event", kind="testSkipped", testID=test, messages=words); continue
                    write("event", kind="testStarted", testID=test)
                    if end == "f": write("event", kind="issueRecorded", testID=test, issue={}, messages=words)
                    if end == "h": signal.pause()
                    if end != "x": write("event", kind="testEnded", testID=test)
                sys.exit(1 if "f" in ends or "x" in ends else 0)
                """
            try folder.write(script, to: "runner")
            try? FileManager.default.removeItem(at: folder.url("state"))
            let python = try Program.python.path
            let result = try await suite(
                ["tests", "a part"] + options + [report, "--", python, folder.file("runner")])
            #expect(result.exitCode == 0, "\(result.error)")
            return try await suite(["verdict", report])
        }

        func suite(_ arguments: [String]) async throws -> Program.Result {
            try await Program.python.run(
                [Program.repository + "/Tests/System/suite.py"] + arguments,
                environment: ["XDG_CACHE_HOME": folder.path])
        }
    }

    @Test(
        arguments: [
            (["pp"], [], 0, "2 passed"), (["pf"], [], 1, "failed: T/b()\n    words of b"),
            (["pf", "pp"], ["--once-more"], 0, "flaky (failed, then passed alone): T/b()"),
            (["pf", "pf"], ["--once-more"], 1, "failed: T/b()"),
            (["px"], ["--once-more"], 1, "failed: T/b()\n    it never ended: exit code 1"),
            (["ps"], [], 0, "skipped: T/b()\n    words of b"),
            // A run that hangs is killed, and names the test that is running.
            (["hp"], ["--limit=1"], 1, "failed: T/a()\n    it hangs\nfailed: the tests after that\n    1 did not run"),
            (["ph"], ["--limit=1"], 1, "failed: T/b()\n    it hangs"),
            (["pf", "pf", "pf"], ["--once-more", "--lane=T/a", "--lane=T/b"], 1, "1 passed, 1 failed"),
            (
                ["pf", "pf", "pp"], ["--once-more", "--lane=T/a", "--lane=T/b"], 0,
                "flaky (failed, then passed alone): T/b()"
            ), (["pp", "pp"], ["--lane=T/a", "--lane=T/b"], 0, "2 passed"),
        ] as [([String], [String], Int32, String)])
    func `the last line of the suite says whether it passed`(
        runs: [String], options: [String], status: Int32, line: String
    ) async throws {
        let verdict = try await Bench().verdict(runs, options)
        verdict.expect(status, output: line)
        #expect(verdict.lines.last == (status == 0 ? "passed" : "FAILED"))
    }

    @Test func `a suite part that hangs is killed with its child processes`() async throws {
        let bench = try Bench()
        let child = bench.folder.file("child")
        _ = try await bench.suite([
            "part", "pages", "--limit=1", bench.report, "--", "bash", "-c", "sleep 600 & echo $! >\(child); wait; true",
        ])
        let number = try #require(
            Int32(String(contentsOfFile: child, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
        // The process that reaps orphans can take a while.
        let state = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8))?.split(separator: " ")[2]
        #expect(state == nil || state == "Z")
        let verdict = try await bench.suite(["verdict", bench.report])
        verdict.expect(
            1, output: "failed: pages\n    exit code 1, and its last lines:\n    it hangs: it was ended after 1 s")
    }

    @Test func `a test that is flaky twice in a row fails`() async throws {
        let bench = try Bench()
        #expect(try await bench.verdict(["pf", "pp"], ["--once-more"]).exitCode == 0)
        let second = try await bench.verdict(["pf", "pp"], ["--once-more"])
        second.expect(1, output: "flaky, as in the run before")
    }

    /// A test outside all lanes would never run.
    @Test func `every test with I/O is in exactly one lane`() async throws {
        let bench = Program.repository + "/hardware/bench"
        let script = """
            eval \"$(grep -E '^(peers|inputs_and_outputs|lanes)=' \(bench))\"; printf '%s\\n' \
            \"$inputs_and_outputs\" \"${lanes[@]}\"
            """
        let shell = try #require(Program(system: "bash"))
        let expressions = try await shell.run(["-c", script]).lines.map { try Regex(String($0)) }
        #expect(expressions.count > 4)
        let all = try await Program.testNames()
        let invented = ["A", "D", "Da", "F", "G", "M", "R", "S", "Se", "Ser", "T", "U", "Z", "a", "`"].map {
            "CommandTests.\($0)Tests/isTrue()"
        }
        for test in all + invented {
            let isOurs = try expressions[0].prefixMatch(in: test) != nil
            #expect(
                try expressions.dropFirst().count { try $0.prefixMatch(in: test) != nil } == (isOurs ? 1 : 0), "\(test)"
            )
        }
        for test in invented + ["PeripheralProfileTests.ProfileCommandTests/x()", "BlueZTests.X/x()"] {
            #expect(try expressions[0].prefixMatch(in: test) != nil, "\(test)")
        }
    }

    /// A script with these exit codes, one per run, replaces chaos.
    @Test(arguments: [
        ([0], 0, "passed"), ([75, 0], 0, "flaky (failed, then passed alone): chaos"), ([75, 75], 1, "failed: chaos"),
        ([75, 1], 1, "failed: chaos"),
        ([1, 0], 1, "failed: chaos\n    exit code 1, and its last lines:\n    what was seen in this run"),
    ])
    func `only tests that exceeded their time limit run again`(codes: [Int], status: Int32, line: String) async throws {
        let bench = try Bench()
        let ran = bench.folder.file("ran")
        let script = """
            ran=$(cat \(ran) 2>/dev/null || echo 0); echo $((ran + 1)) >\(ran)
            set -- \(codes.map(String.init).joined(separator: " ")); shift $ran
            echo "what was seen in this run"; exit $1
            """
        _ = try await bench.suite(["part", "chaos", "--once-more", bench.report, "--", "bash", "-c", script])
        let verdict = try await bench.suite(["verdict", bench.report])
        verdict.expect(status, output: line)
    }
}

@Suite struct MutationTests {
    @Test func `every mutation matches the text of its source file`() async throws {
        let script = Program.repository + "/Tests/Mutations/mutations.py"
        let result = try await Program.python.run(
            [script, Program.repository, "--check"], directory: Program.repository)
        #expect(result.exitCode == 0, "\(result.output)")
    }
}
