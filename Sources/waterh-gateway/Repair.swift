import CommandSupport
import Foundation
import Utilities

/// The result of a fix, or the command that the user must run.
struct Repair {
    var check: String
    var isDone: Bool
    var words: String

    static func all(of findings: [Finding]) async -> [Repair] {
        var repairs: [Repair] = []
        var seen: Set<Remedy> = []
        for finding in findings {
            guard finding.status == .bad || finding.check.hasPrefix("privacy"), let remedy = finding.remedy,
                seen.insert(remedy).inserted
            else { continue }
            repairs.append(await perform(finding.check, remedy))
        }
        return repairs
    }

    private static func perform(_ check: String, _ remedy: Remedy) async -> Repair {
        let line = line(remedy)
        guard !remedy.needsRoot || geteuid() == 0 else { return Repair(check: check, isDone: false, words: line) }
        guard let name = remedy.words.first, let program = ChildProcess(name) else {
            return Repair(
                check: check, isDone: false,
                words: "\(line) (\(remedy.words.first ?? "this program") is not installed: install it first)")
        }
        guard let result = await program.run(Array(remedy.words.dropFirst())) else {
            return Repair(check: check, isDone: false, words: "\(line) (timed out)")
        }
        let output = result.output.split(separator: "\n").first.map { ": \($0)" } ?? ""
        return result.exitCode == 0
            ? Repair(check: check, isDone: true, words: line)
            : Repair(check: check, isDone: false, words: "\(line) (failed: exit code \(result.exitCode)\(output))")
    }

    static func line(_ remedy: Remedy) -> String {
        let arguments = (remedy.needsRoot && geteuid() != 0 ? ["sudo"] : []) + remedy.words
        return arguments.map(Escaping.shellWord).joined(separator: " ")
    }
}
