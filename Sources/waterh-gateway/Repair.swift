import CommandSupport
import Foundation
import Utilities

/// The result of a fix, or the command that the user must run.
struct Repair {
    var check: String
    var isDone: Bool
    var text: String

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
        guard !remedy.needsRoot || geteuid() == 0 else { return Repair(check: check, isDone: false, text: line) }
        guard let name = remedy.command.first, let program = ChildProcess(name) else {
            return Repair(
                check: check, isDone: false,
                text: "\(line) (\(remedy.command.first ?? "this program") is not installed: install it first)")
        }
        let result: ChildProcess.Result
        do { result = try await program.run(Array(remedy.command.dropFirst())) } catch {
            return Repair(check: check, isDone: false, text: "\(line) (\(error.sentence))")
        }
        let output = result.output.split(separator: "\n").first.map { ": \($0)" } ?? ""
        return result.exitCode == 0
            ? Repair(check: check, isDone: true, text: line)
            : Repair(check: check, isDone: false, text: "\(line) (failed: exit code \(result.exitCode)\(output))")
    }

    static func line(_ remedy: Remedy) -> String {
        let arguments = (remedy.needsRoot && geteuid() != 0 ? ["sudo"] : []) + remedy.command
        return arguments.map(Escaping.shellWord).joined(separator: " ")
    }
}
