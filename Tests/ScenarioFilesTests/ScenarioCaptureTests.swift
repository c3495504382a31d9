import CommandKit
import Foundation
import ScenarioFiles
import Scenarios
import Support
import Testing

/// Captures as days.
@Suite struct ScenarioCaptureTests {
    private static let captures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "captures")

    @Test(
        "a capture is a day on which each of its drinks is there once",
        arguments: ["boost_two-days.btsnoop", "boost_draft.btsnoop"])
    func plays(name: String) throws {
        let made = try ScenarioCapture(path: Self.captures.appending(path: name).path)
        #expect(made.scenario.promise.sips ?? 0 > 0 && !made.scenario.polls.isEmpty, "\(made.remarks)")
        let again = try ScenarioFile(text: ScenarioText.text(made.scenario), name: name).scenario
        #expect(again == made.scenario)
        let played = try PlayedScenario(again)
        #expect(played.violations == [])
    }

    @Test("cut anywhere, a capture is a day or refused in words")
    func cut() throws {
        let bytes = try Data(contentsOf: Self.captures.appending(path: "boost_two-days.btsnoop"))
        let folder = try TemporaryFolder()
        for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 60)) {
            let path = folder.file("cut.btsnoop")
            try bytes.prefix(count).write(to: URL(fileURLWithPath: path))
            do { _ = try ScenarioCapture(path: path) } catch {
                #expect(error is CommandFailure, "cut at \(count): \(error)")
            }
        }
    }

    @Test("what is no capture is refused in words")
    func noCapture() {
        let failure = #expect(throws: CommandFailure.self) { try ScenarioCapture(path: "/nonexistent") }
        #expect(failure?.status == .badInput)
    }
}
