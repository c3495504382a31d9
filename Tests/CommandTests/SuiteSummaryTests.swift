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

        /// Runs a part of the suite with the given results.
        /// - Parameter runs: for each run the results of the tests T/a() and T/b(): `p`assed, `f`ailed, `s`kipped, `x`
        ///   never ended, `h`angs.
        /// - Parameter limit: seconds until the run is ended.
        func part(_ runs: [String], repeatsFailures: Bool = true, lanes: [String] = [], limit: Int? = nil) async throws
        {
            let runner = folder.file("runner")
            let script = """
                #!/usr/bin/env python3
                import json, signal, sys
                at = sys.argv.index("--event-stream-output-path")
                state = \(folder.file("state").debugDescription)
                number = len(open(state).read()) if __import__("os").path.exists(state) else 0
                open(state, "a").write("x")
                ends = \(runs)[number]
                wanted = sys.argv[sys.argv.index("--filter") + 1] if "--filter" in sys.argv else None
                with open(sys.argv[at + 1], "w") as out:
                    def event(kind, test, **more):
                        print(json.dumps({"kind": "event", "payload": {"kind": kind, "testID": test, **more}}), \
                file=out, flush=True)
                    for letter in "ab": print(json.dumps({"kind": "test", "payload": {"kind": "function", "id": \
                f"T/{letter}()/T.swift:1:2"}}), file=out)
                    for letter, end in zip("ab", ends):
                        import re
                        test = f"T/{letter}()"
                        if wanted and not re.search(wanted, test): continue
                        place = test + "/T.swift:1:2"
                        words = [{"text": f"words of {letter}"}]
                        if end == "s": event("testSkipped", place, messages=words); continue
                        event("testStarted", place)
                        if end == "f": event("issueRecorded", place, issue={"isKnown": False}, messages=words)
                        if end == "h": signal.pause()
                        if end != "x": event("testEnded", place)
                sys.exit(1 if "f" in ends or "x" in ends else 0)
                """
            try folder.write(script, to: "runner")
            try? FileManager.default.removeItem(at: folder.url("state"))
            let options =
                (repeatsFailures ? ["--once-more"] : []) + lanes.map { "--lane=" + $0 }
                + (limit.map { ["--limit=\($0)"] } ?? [])
            let result = try await suite(["tests", "a part"] + options + [report, "--", try python().path, runner])
            #expect(result.exitCode == 0, "\(result.error)")
        }

        func verdict() async throws -> Program.Result { try await suite(["verdict", report]) }

        func suite(_ arguments: [String]) async throws -> Program.Result {
            try await python().run(
                [Program.repository + "/Tests/System/suite.py"] + arguments,
                environment: ["XDG_CACHE_HOME": folder.path])
        }

        private func python() throws -> Program {
            try #require(Program(system: "python3"), "python3 is not installed: run hardware/bench setup")
        }
    }

    @Test(arguments: [
        (["pp"], true, 0, "2 passed", "passed"), (["pf"], false, 1, "failed: T/b()\n    words of b", "FAILED"),
        (["pf", "pp"], true, 0, "flaky (failed, then passed alone): T/b()", "passed"),
        (["pf", "pf"], true, 1, "failed: T/b()", "FAILED"),
        (["px"], true, 1, "failed: T/b()\n    it never ended: exit code 1", "FAILED"),
        (["ps"], true, 0, "skipped: T/b()\n    words of b", "passed"),
    ])
    func `the last line of the suite says whether it passed`(
        runs: [String], repeatsFailures: Bool, status: Int32, line: String, last: String
    )
        async throws
    {
        let bench = try Bench()
        try await bench.part(runs, repeatsFailures: repeatsFailures)
        let verdict = try await bench.verdict()
        #expect(verdict.exitCode == status)
        #expect(verdict.output.contains(line), "\(verdict.output)")
        #expect(verdict.lines.last.map(String.init) == last)
    }

    /// A run that hangs must name the test that is running.
    @Test(arguments: [
        (["hp"], "failed: T/a()\n    it hangs\nfailed: the tests after that\n    1 did not run"),
        (["ph"], "failed: T/b()\n    it hangs"),
    ])
    func `a test that hangs is killed and fails`(runs: [String], lines: String) async throws {
        let bench = try Bench()
        try await bench.part(runs, limit: 1)
        let verdict = try await bench.verdict()
        #expect(verdict.exitCode == 1 && verdict.output.contains(lines), "\(verdict.output)")
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
        let verdict = try await bench.verdict()
        #expect(
            verdict.exitCode == 1
                && verdict.output.contains(
                    "failed: pages\n    exit code 1, and its last lines:\n    it hangs: it was ended after 1 s"),
            "\(verdict.output)")
    }

    @Test func `a test that is flaky twice in a row fails`() async throws {
        let bench = try Bench()
        try await bench.part(["pf", "pp"])
        #expect(try await bench.verdict().exitCode == 0)
        try await bench.part(["pf", "pp"])
        let verdict = try await bench.verdict()
        #expect(verdict.exitCode == 1)
        #expect(verdict.output.contains("flaky, as in the run before"))
    }

    @Test(arguments: [
        (["pf", "pf", "pf"], 1, "1 passed, 1 failed"),
        (["pf", "pf", "pp"], 0, "flaky (failed, then passed alone): T/b()"), (["pp", "pp"], 0, "2 passed"),
    ])
    func `the suite's summary contains the results of every lane`(runs: [String], status: Int32, line: String)
        async throws
    {
        let bench = try Bench()
        try await bench.part(runs, lanes: ["T/a", "T/b"])
        let verdict = try await bench.verdict()
        #expect(verdict.exitCode == status && verdict.output.contains(line), "\(verdict.output)")
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
        let testBinary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let all = try await Program(path: testBinary).run(["--testing-library", "swift-testing", "--list-tests"]).lines
            .map(
                String.init)
        let invented = ["A", "D", "Da", "F", "G", "M", "R", "S", "Se", "Ser", "T", "U", "Z", "a", "`"].map {
            "CommandTests.\($0)Tests/isTrue()"
        }
        #expect(all.count > 100)
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

    /// A script instead of chaos, with these exit codes, one per run.
    private func runTimedOutTest(_ bench: Bench, _ codes: [Int]) async throws {
        let script = """
            ran=$(cat \(bench.folder.file("ran")) 2>/dev/null || echo 0); echo $((ran + 1)) >\(bench.folder.file("ran"))
            set -- \(codes.map(String.init).joined(separator: " ")); shift $ran
            echo "what was seen in this run"; exit $1
            """
        try? FileManager.default.removeItem(at: bench.folder.url("ran"))
        _ = try await bench.suite(["part", "chaos", "--once-more", bench.report, "--", "bash", "-c", script])
    }

    @Test(arguments: [
        ([0], 0, "passed"), ([75, 0], 0, "flaky (failed, then passed alone): chaos"), ([75, 75], 1, "failed: chaos"),
        ([75, 1], 1, "failed: chaos"),
        ([1, 0], 1, "failed: chaos\n    exit code 1, and its last lines:\n    what was seen in this run"),
    ])
    func `only tests that exceeded their time limit run again`(codes: [Int], status: Int32, line: String) async throws {
        let bench = try Bench()
        try await runTimedOutTest(bench, codes)
        let verdict = try await bench.verdict()
        #expect(verdict.exitCode == status)
        #expect(verdict.output.contains(line), "\(verdict.output)")
    }
}

/// hardware/machine/tests with a fake VM: the result of a group that fails.
@Suite struct VMTestRunnerTests {
    /// Runs the group `host` in a VM that fails `failures` times first. The file `words` gets one line for each call.
    /// - Parameter userMode: whether user-mode Linux runs on this machine.
    private func run(_ folder: TemporaryFolder, failures: Int, userMode: Bool = true, words: [String] = ["host"])
        async throws -> Program.Result
    {
        let key = try await #require(Program(system: "sha256sum")).run([
            Program.repository + "/hardware/machine/suite/requirements.txt"
        ]).output.prefix(12)
        // The programs of the independent peers exist already.
        try FileManager.default.createDirectory(
            atPath: folder.file("cache/waterh-bench/python-\(key)"), withIntermediateDirectories: true)
        try Data().write(to: folder.url("cache/waterh-bench/python-\(key)/ready"))
        let machine = """
            #!/bin/sh
            echo "$*" >>\(folder.file("words"))
            case $* in *"--user-mode"*" -- true") exit \(userMode ? 0 : 125) ;; esac
            left=$(cat \(folder.file("left")))
            [ $left -gt 0 ] || exit 0
            echo $((left - 1)) >\(folder.file("left"))
            exit 7

            """
        try machine.write(to: folder.url("vm"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("vm"))
        try "\(failures)".write(to: folder.url("left"), atomically: true, encoding: .utf8)
        let bash = try #require(Program(system: "bash"))
        return try await bash.run(
            [Program.repository + "/hardware/machine/tests"] + words,
            environment: [
                "XDG_CACHE_HOME": folder.file("cache"), "BENCH_VM": folder.file("vm"),
                "BENCH_PRODUCTS": Program.products,
            ])
    }

    @Test func `a flaky group is reported and fails the second time`() async throws {
        let folder = try TemporaryFolder()
        let first = try await run(folder, failures: 1)
        #expect(first.exitCode == 0 && first.error.contains("1 flaky: host"), "\(first.output)\(first.error)")
        let second = try await run(folder, failures: 1)
        #expect(
            second.exitCode == 1 && second.error.contains("flaky, as in the run before"),
            "\(second.output)\(second.error)")
        let third = try await run(folder, failures: 0)
        #expect(third.exitCode == 0 && !third.error.contains("flaky"), "\(third.output)\(third.error)")
        #expect(try await run(folder, failures: 1).exitCode == 0)
        #expect(try await run(folder, failures: 2).exitCode == 1, "failed twice")
    }

    @Test(arguments: [true, false]) func `VMs are emulated if User Mode Linux does not run`(userMode: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        let result = try await run(folder, failures: 0, userMode: userMode)
        let words = try String(contentsOf: folder.url("words"), encoding: .utf8).split(separator: "\n")
        #expect(result.exitCode == 0 && words.count == 2, "\(words) \(result.error)")
        #expect(words.last?.contains("--user-mode") == userMode && words.last?.contains("MachineHostTests") == true)
        #expect(result.error.contains("every VM is emulated") == !userMode, "\(result.error)")
        #expect(
            try await run(folder, failures: 0, userMode: userMode, words: ["--emulated"]).output
                == (userMode ? "" : "yes\n"))
    }
}

@Suite struct MutationTests {
    @Test func `every mutation matches the text of its source file`() async throws {
        let python = try #require(Program(system: "python3"))
        let script = Program.repository + "/Tests/Mutations/mutations.py"
        let result = try await python.run([script, Program.repository, "--check"], directory: Program.repository)
        #expect(result.exitCode == 0, "\(result.output)")
    }
}
