import CommandSupport
import Foundation
import Support
import Testing
import TrackerCore

/// CLI spec C2.
@Suite struct ExitReasonTests {
    @Test
    func `each reason has its exit code`() {
        let codes = Dictionary(uniqueKeysWithValues: ExitReason.allCases.map { ($0.rawValue, $0.status.rawValue) })
        #expect(
            codes == [
                "absent": 5, "notFound": 3, "refused": 3, "invalid": 2, "damaged": 4, "busy": 1, "diskFull": 1,
                "interrupted": 130, "failed": 1,
            ])
    }

    @Test(arguments: ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"])
    func `the help of every command lists the exit codes`(_ command: String) async throws {
        let said = try await Program(command).run(["--help"]).output.split { $0 == "\n" || $0 == " " }.joined(
            separator: " ")
        #expect(said.contains(ExitStatus.help))
    }

    private struct Trouble: Problem {
        var code = "trouble"
        var category: ProblemCategory
        var sentence = "It is so."
    }

    private struct Absence: Problem, HasExitReason {
        var code = "notFound"
        var category: ProblemCategory { .notFound }
        var sentence: String { "Nobody is there." }
        var exitReason: ExitReason { .absent }
    }

    @Test
    func `each problem category maps to an exit reason`() {
        for category in ProblemCategory.allCases {
            #expect(
                CommandFailure(Trouble(category: category)).status == ExitReason(rawValue: category.rawValue)?.status,
                "\(category)")
        }
    }

    @Test
    func `an error with its own reason keeps it`() {
        #expect(CommandFailure(Absence()).status == .noLink)
        #expect(CommandFailure(Refusal("noSuchSetting", "There is no such setting.")).status == .wrongUse)
        #expect(CommandFailure(Refusal("noActiveSession", "There is none.")).status == .refused)
    }

    @Test
    func `an invalid emulator file and a missing one have different exit codes`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "exit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let bad = folder.appending(path: "bad.json").path
        try Data("{".utf8).write(to: URL(fileURLWithPath: bad))
        for (path, reason) in [(bad, ExitReason.damaged), (folder.appending(path: "none.json").path, .failed)] {
            let failure = #expect(throws: ProfileFile.Failure.self) { try ProfileFile.load(path) }
            #expect(failure?.exitReason == reason)
        }
    }
}
