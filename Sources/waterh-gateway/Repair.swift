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
            let (isDone, text) = await perform(remedy)
            repairs.append(Repair(check: finding.check, isDone: isDone, text: text))
        }
        return repairs
    }

    private static func perform(_ remedy: Remedy) async -> (isDone: Bool, text: String) {
        let line = line(remedy)
        guard !remedy.needsRoot || geteuid() == 0 else { return (false, line) }
        guard let name = remedy.command.first, let program = ChildProcess(name) else {
            return (
                false, "\(line) (\(remedy.command.first ?? "this program") is not installed: install it first)"
            )
        }
        do {
            let result = try await program.run(Array(remedy.command.dropFirst()))
            if result.exitCode == 0 { return (true, line) }
            let output = result.output.split(separator: "\n").first.map { ": \($0)" } ?? ""
            return (false, "\(line) (failed: exit code \(result.exitCode)\(output))")
        } catch {
            return (false, "\(line) (\(error.sentence))")
        }
    }

    static func line(_ remedy: Remedy) -> String {
        let arguments = (remedy.needsRoot && geteuid() != 0 ? ["sudo"] : []) + remedy.command
        return arguments.map(Escaping.shellWord).joined(separator: " ")
    }
}
