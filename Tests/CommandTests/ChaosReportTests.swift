import Foundation
import Support
import Testing

@Suite struct ChaosReportTests {
    private func report(_ checks: String, _ call: String) async throws -> Program.Result {
        let python = try #require(Program(system: "python3"))
        let script =
            """
            import sys; sys.path.insert(0, sys.argv[1]); import chaos_report; checks = \(checks); \
            sys.stdout.write(chaos_report.\(call))
            """
        return try await python.run(
            ["-c", script, Program.repository + "/Tests/System"],
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"])
    }

    private static let checks =
        #"{"the store is whole": [], "every sip <once> & \"all\"": ["LOST: 2 sips\x00 # [12]", "a second <one>"]}"#

    @Test
    func `the JUnit report has one case per check`() async throws {
        let folder = try TemporaryFolder()
        let result = try await report(Self.checks, "junit(checks, 61.25)")
        try #require(result.exitCode == 0, "\(result.error)")
        try Data(result.outputBytes).write(to: folder.url("report.xml"))
        let judge = try #require(Program(system: "xmllint"), "xmllint is not installed: run hardware/bench setup")
        func value(_ path: String) async throws -> String {
            try await judge.run(["--xpath", "string(\(path))", folder.file("report.xml")]).output.trimmingCharacters(
                in: .newlines)
        }
        for (name, wanted) in [("tests", "2"), ("failures", "1"), ("time", "61.250")] {
            #expect(try await value("/testsuite/@\(name)") == wanted)
        }
        #expect(try await value("//testcase[failure]/@name") == "every sip <once> & \"all\"")
        #expect(try await value("//failure/@message") == "LOST: 2 sips\u{FFFD} # [12]")
        #expect(try await value("//failure").hasSuffix("a second <one>"))
    }

    @Test
    func `the TAP report has a plan and failures as comments`() async throws {
        let result = try await report(
            #"{"the store is whole": [], "every sip # once": ["LOST: 2 sips\nof 9"]}"#, "tap(checks)")
        #expect(
            result.output
                == """
                TAP version 13\n1..2\nok 1 - the store is whole\nnot ok 2 - every sip \\# once\n# LOST: 2 sips of \
                9\n
                """,
            "\(result.error)")
    }
}
