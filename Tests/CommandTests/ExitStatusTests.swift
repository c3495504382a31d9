import CommandSupport
import Foundation
import Support
import Testing
import TrackerCore

/// CLI spec C2.
@Suite struct ExitStatusTests {
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

    @Test
    func `each problem category has its exit code`() {
        let codes = Dictionary(
            uniqueKeysWithValues: ProblemCategory.allCases.map {
                ($0.rawValue, CommandFailure(Trouble(category: $0)).status.rawValue)
            })
        #expect(
            codes == [
                "notFound": 3, "refused": 3, "invalid": 2, "damaged": 4, "busy": 1, "diskFull": 1, "failed": 1,
            ])
        #expect(CommandFailure(Refusal("noSuchSetting", "There is no such setting.")).status == .wrongUse)
    }

    @Test
    func `an invalid emulator file and a missing one have different exit codes`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "exit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let bad = folder.appending(path: "bad.json").path
        try Data("{".utf8).write(to: URL(fileURLWithPath: bad))
        for (path, status) in [(bad, ExitStatus.badInput), (folder.appending(path: "none.json").path, .failed)] {
            let failure = #expect(throws: ProfileFile.Failure.self) { try ProfileFile.load(path) }
            #expect(failure?.status == status)
        }
    }
}
