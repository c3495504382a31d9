import Foundation
import Support
import Testing

/// The example programs of hardware/ci.
@Suite struct CIExampleTests {
    private static let folder = Program.repository + "/hardware/ci/"
    private let emulator = Program("waterh-emulator").path

    @Test(arguments: [("python3", "bottle.py"), ("node", "bottle.mjs")])
    func `the example script reads the drink`(interpreter: String, file: String) async throws {
        let program = try #require(
            Program(system: interpreter), "\(interpreter) is not installed: run hardware/bench setup")
        let result = try await program.run([Self.folder + file, emulator], limit: 30)
        #expect(result.exitCode == 0 && result.output == "250 ml came\n", "\(result.output)\(result.error)")
    }

    @Test func `the example program reads the drink`() async throws {
        let compiler = try #require(Program(system: "cc"), "there is no C compiler: run hardware/bench setup")
        let folder = try TemporaryFolder()
        let built = try await compiler.run(
            ["-Wall", "-Wextra", "-Werror", "-o", folder.file("bottle"), Self.folder + "bottle.c"], limit: 30)
        #expect(built.exitCode == 0, "\(built.error)")
        let result = try await Program(path: folder.file("bottle")).run([emulator], limit: 30)
        #expect(result.exitCode == 0 && result.output == "250 ml came\n", "\(result.output)\(result.error)")
    }

    /// The examples must fit on one screen.
    @Test(arguments: ["bottle.py", "bottle.mjs", "bottle.c", "machine_bleak.py"])
    func `the example is short`(file: String) throws {
        let text = try String(contentsOfFile: Self.folder + file, encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 < 60)
    }
}
